# `cmake --install BUILD --prefix DIR`: public headers, one archive, the shared library with the C interface, the programs, a CMake package and pkg-config files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_LIBDIR lib)  # the pkg-config file finds its prefix from here
install(DIRECTORY include/tilecast TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS tilecast_library EXPORT tilecast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tilecast_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tilecast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT tilecast-targets NAMESPACE tilecast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
configure_package_config_file(cmake/tilecast-config.cmake.in ${CMAKE_BINARY_DIR}/tilecast-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tilecast-config-version.cmake COMPATIBILITY SameMinorVersion)
if(SQLite3_FOUND)
  set(TILECAST_PC_SQLITE -lsqlite3)
endif()
configure_file(cmake/tilecast.pc.in ${CMAKE_BINARY_DIR}/tilecast.pc @ONLY)
configure_file(cmake/tilecast-c.pc.in ${CMAKE_BINARY_DIR}/tilecast-c.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tilecast-config.cmake ${CMAKE_BINARY_DIR}/tilecast-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
install(FILES ${CMAKE_BINARY_DIR}/tilecast.pc ${CMAKE_BINARY_DIR}/tilecast-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
