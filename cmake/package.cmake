# Debian packages, one for each kind of user: the program, the library, and what compiles against it.
# make package builds them; tests/checks/package.sh installs them in a fresh Debian.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lazydp)
set(CPACK_PACKAGE_VENDOR "The LazyDP contributors")
set(CPACK_PACKAGE_CONTACT "The LazyDP contributors <lazydp@localhost>")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)

set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME lazydp)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "differentially private training of recommendation models
 Trains models of large embedding tables with DP-SGD at nearly the speed of
 training without privacy: the noise of a row is delayed until it is read.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "liblazydp${abi}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/triggers")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "lazy noise for embedding tables, as a C++ library
 Private steps on embedding tables that belong to another program's trainer.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblazydp-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "liblazydp${abi} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "headers of liblazydp
 What a C++ program needs to be compiled against liblazydp: headers, CMake
 package and pkg-config file.")

foreach(part lazydp liblazydp${abi} liblazydp-dev)
  string(REGEX REPLACE "^liblazydp[0-9.]+$" library component "${part}")
  string(REGEX REPLACE "^liblazydp-dev$" development component "${component}")
  string(REGEX REPLACE "^lazydp$" program component "${component}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${part}"
          RENAME copyright COMPONENT ${component})
endforeach()
include(CPack)
