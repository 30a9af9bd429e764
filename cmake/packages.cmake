# `cpack` makes a Debian package of each component that is built (docs/packages.md). What a package needs of
# other packages is read from its files by dpkg-shlibdeps, but for what is said here.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vig)
set(CPACK_PACKAGE_VENDOR "ViG in C++")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "ViG in C++ <vig@localhost>")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
# Independent of the packager's umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL)
set(package_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# vig_package(COMPONENT NAME SECTION DESCRIPTION): the component becomes the package NAME. The first line
# of the description is its summary.
function(vig_package component name section description)
  string(TOUPPER ${component} upper)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION ${description} PARENT_SCOPE)
  install(FILES LICENSE DESTINATION share/doc/${name} RENAME copyright COMPONENT ${component})
endfunction()

set(about "ViG is a vision backbone with gated linear attention, whose cost is linear in the
number of pixels. This engine runs it on the CPU.")
set(heif "libheif1")  # loaded when the first HEIC or AVIF image is met

vig_package(program vig science "classify, segment and detect with ViG networks
${about}
This package has the program vig, its server and its studies, small trained networks,
manual pages and completion for bash, zsh and fish.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ${heif})
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "vig-train, vig-onnx, libopenslide0")

if(VIG_LIBRARY)
  vig_package(library libvig0 libs "ViG networks, shared library for C
${about}
This package has the shared library for programs that call C.")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS ${heif})
  # For packages of others that link it.
  file(WRITE ${PROJECT_BINARY_DIR}/packaging/shlibs "libvig 0 libvig0 (>= ${PROJECT_VERSION})\n")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/packaging/shlibs)

  # Who links the static libraries needs what these were built with: the engine's development packages, but
  # for those of the programs alone and those whose headers no library of ours shows.
  file(STRINGS tools/packages.txt lines)
  set(section)
  set(needed "libvig0 (= ${package_version})")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\[(.*)\\]")
      set(section ${CMAKE_MATCH_1})
    elseif(section STREQUAL "engine" AND NOT line MATCHES "cli11|heif" AND
           line MATCHES "^([a-z0-9+.-]+-dev)")
      string(APPEND needed ", ${CMAKE_MATCH_1}")
    endif()
  endforeach()
  vig_package(development libvig-dev libdevel "ViG networks, headers and static libraries
${about}
This package has the headers for C and C++, the static libraries, and what CMake and
pkg-config ask for.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ${needed})
endif()

if(VIG_TORCH)
  vig_package(training vig-train science "train ViG networks
${about}
This package has the program behind vig train, which is built on LibTorch.")
  set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "vig (= ${package_version})")
endif()

if(VIG_ONNX)
  vig_package(onnx vig-onnx science "write ViG networks as ONNX files
${about}
This package has the program behind vig convert for ONNX files.")
  set(CPACK_DEBIAN_ONNX_PACKAGE_DEPENDS "vig (= ${package_version})")
endif()

if(VIG_PYTHON)
  set(next ${Python_VERSION_MINOR})
  math(EXPR next "${next} + 1")
  vig_package(python python3-vig python "ViG networks, module for Python
${about}
This package has the module vig.")
  # The default network is that of the package vig.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "vig (= ${package_version}), python3-numpy, \
python3 (>= ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}), python3 (<< ${Python_VERSION_MAJOR}.${next})")
  # Python keeps compiled files beside the module; these scripts make and remove them.
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/python3-vig/postinst
      ${PROJECT_SOURCE_DIR}/packaging/python3-vig/prerm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()

include(CPack)
