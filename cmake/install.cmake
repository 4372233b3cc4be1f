# `cmake --install BUILD --prefix DIR`: the program with its manual pages, completion and documents; public headers, one archive, a CMake package and
# pkg-config files; the shared library with the C interface; the Python package. Components are what Debian packages are made of (packages.cmake).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_LIBDIR lib)  # the pkg-config file finds its prefix from here
execute_process(COMMAND python3 -c "import sys; print('lib/python%d.%d/dist-packages' % sys.version_info[:2])"
                OUTPUT_VARIABLE python_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(TILECAST_PYTHON_FOLDER "${python_folder}" CACHE STRING "Where Python looks for packages, below the prefix; empty: none is installed")

install(DIRECTORY include/tilecast TYPE INCLUDE COMPONENT development FILES_MATCHING PATTERN "*.h")
install(TARGETS tilecast_library EXPORT tilecast-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS tilecast_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS tilecast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(EXPORT tilecast-targets NAMESPACE tilecast:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast COMPONENT development)
configure_package_config_file(cmake/tilecast-config.cmake.in ${CMAKE_BINARY_DIR}/tilecast-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tilecast-config-version.cmake COMPATIBILITY SameMinorVersion)
if(SQLite3_FOUND)
  set(TILECAST_PC_SQLITE -lsqlite3)
endif()
configure_file(cmake/tilecast.pc.in ${CMAKE_BINARY_DIR}/tilecast.pc @ONLY)
configure_file(cmake/tilecast-c.pc.in ${CMAKE_BINARY_DIR}/tilecast-c.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tilecast-config.cmake ${CMAKE_BINARY_DIR}/tilecast-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/tilecast.pc ${CMAKE_BINARY_DIR}/tilecast-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The program writes its own pages and scripts, from the same declarations as its flags.
set(written ${CMAKE_BINARY_DIR}/written)
install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/packaging/write-pages\" \"$<TARGET_FILE:tilecast>\" \"${written}\" COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT program)
install(DIRECTORY ${written}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${written}/bash/tilecast DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${written}/zsh/_tilecast DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${written}/fish/tilecast.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tilecast COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tilecast COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
if(TILECAST_PYTHON_FOLDER)
  install(DIRECTORY python/tilecast DESTINATION ${TILECAST_PYTHON_FOLDER} COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()
