# Debian packages by CPack (`make deb`): tilecast, libtilecast1, libtilecast-dev and python3-tilecast. packaging/build-deb configures for them:
# linked against Debian's libraries, hardened, Python's folder that of all its versions.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilecast)
set(CPACK_PACKAGE_VENDOR Tilecast)
set(CPACK_PACKAGE_CONTACT "Tilecast maintainers <maintainers@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program runtime development python)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME tilecast)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
    "forecasts of how long deep-learning work takes on GPUs
Tilecast says how long kernels, whole models, collectives, serving and
training take on a GPU, without running them and without having one. The
program answers on the command line, over HTTP and to assistants.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libtilecast1)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# CPack generates "shlibs" for all packages or none.
file(WRITE ${CMAKE_BINARY_DIR}/debian/shlibs "libtilecast 1 libtilecast1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/triggers ${CMAKE_BINARY_DIR}/debian/shlibs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
    "forecasts of deep-learning work on GPUs, shared library
The C interface of Tilecast, which says how long kernels, models,
collectives, serving and training take on a GPU.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtilecast-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtilecast1 (= ${PROJECT_VERSION}-1), zlib1g-dev, libsqlite3-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "forecasts of deep-learning work on GPUs, development files
Headers, the archive for C++, and what CMake and pkg-config need to build
programs with Tilecast.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tilecast)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3:any, libtilecast1 (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-numpy)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION
    "forecasts of deep-learning work on GPUs, Python package
The questions of Tilecast from Python: how long kernels, models,
collectives, serving and training take on a GPU, and recorded PyTorch
programs.")

# What policy wants of every package: who may copy it, and what changed (Debian Policy 4.6.2, chapter 12).
set(changelog ${CMAKE_BINARY_DIR}/changelog.Debian)
foreach(pair program:tilecast runtime:libtilecast1 development:libtilecast-dev python:python3-tilecast)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(CODE "execute_process(COMMAND \"${CMAKE_SOURCE_DIR}/packaging/write-changelog\" \"${PROJECT_VERSION}\" \"${changelog}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES packaging/debian/copyright DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${changelog}.gz DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
