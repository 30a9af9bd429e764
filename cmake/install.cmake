# `cmake --install` puts the programs, the libraries, their public headers and the default model below one
# prefix that can be moved; find_package(vig) finds them there (docs/library.md). Each component is a Debian
# package of cmake/packages.cmake: program, library, development, training, onnx, python.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vig)

if(VIG_LIBRARY)
  set(c_library vig_c)
endif()
install(TARGETS vig_library ${c_library} vig_base vig_graph vig_models vig_kernels vig_weights vig_image vig_data
                vig_tasks vig_runtime vig_pipeline
        EXPORT vig ARCHIVE COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT vig NAMESPACE vig:: FILE vigTargets.cmake DESTINATION ${package_folder} COMPONENT development)
if(VIG_LIBRARY)
  install(TARGETS vig_shared EXPORT vigC LIBRARY COMPONENT library NAMELINK_COMPONENT development
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT vigC NAMESPACE vig:: FILE vigCTargets.cmake DESTINATION ${package_folder}
          COMPONENT development)
  install(FILES include/vig/vig.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vig COMPONENT development)
  # Its prefix is where the file lies.
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/vig.pc.in ${PROJECT_BINARY_DIR}/vig.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/vig.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/vigConfig.cmake.in ${PROJECT_BINARY_DIR}/vigConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vigConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vigConfig.cmake ${PROJECT_BINARY_DIR}/vigConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")\nset(include \"${CMAKE_INSTALL_INCLUDEDIR}\")"
        COMPONENT development)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake COMPONENT development)

install(TARGETS vig RUNTIME COMPONENT program)
if(VIG_SERVER)
  install(TARGETS vig-serve RUNTIME COMPONENT program)  # which needs no library that vig does not need
endif()
install(TARGETS vig-study RUNTIME COMPONENT program OPTIONAL)  # if it was built: see src/vig/CMakeLists.txt
if(VIG_TORCH)
  # LibTorch may lie outside the system's folders.
  set_target_properties(vig-train PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS vig-train RUNTIME COMPONENT training)
endif()
if(VIG_ONNX)
  install(TARGETS vig-onnx RUNTIME COMPONENT onnx)
endif()
# Where the programs look for the default models, seen from their own folder.
install(FILES models/default.safetensors models/segment.safetensors models/detect.safetensors
        DESTINATION share/vig COMPONENT program)

# Manual pages and completion are printed by the program, which must run here.
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "set(build \"${PROJECT_BINARY_DIR}\")\nset(man \"${CMAKE_INSTALL_MANDIR}\")" ALL_COMPONENTS)
  install(CODE "set(part program)" COMPONENT program)
  install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_help.cmake COMPONENT program)
  if(VIG_TORCH)
    install(CODE "set(part training)" COMPONENT training)
    install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_help.cmake COMPONENT training)
  endif()
endif()

if(VIG_PYTHON)
  # Below /usr this is where Debian's Python looks. The default models are the programs' own.
  set(python_folder lib/python3/dist-packages)
  set(python_source src/vig/bindings/python)
  set(python_info ${PROJECT_BINARY_DIR}/python_info)
  install(TARGETS vig_python LIBRARY DESTINATION ${python_folder}/vig COMPONENT python)
  install(DIRECTORY ${python_source}/vig DESTINATION ${python_folder} COMPONENT python
          PATTERN __pycache__ EXCLUDE)
  file(MAKE_DIRECTORY ${python_info})
  foreach(task default segment detect)
    file(CREATE_LINK ../../../../share/vig/${task}.safetensors ${python_info}/${task}.safetensors SYMBOLIC)
    install(FILES ${python_info}/${task}.safetensors DESTINATION ${python_folder}/vig COMPONENT python)
  endforeach()
  # What pip knows of the package, made by the module that makes wheels.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${PROJECT_SOURCE_DIR}/${python_source}
            ${Python_EXECUTABLE} -c
            "import sys, wheel_builder; wheel_builder.prepare_metadata_for_build_wheel(sys.argv[1])" ${python_info}
    COMMAND_ERROR_IS_FATAL ANY)
  install(DIRECTORY ${python_info}/vig-${PROJECT_VERSION}.dist-info DESTINATION ${python_folder}
          COMPONENT python)
endif()
