# `cmake --install` puts the programs, the libraries, their public headers and the default model below one
# prefix that can be moved; find_package(vig) finds them there (docs/library.md).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vig)

if(VIG_LIBRARY)
  set(c_library vig_c)
endif()
install(TARGETS vig_library ${c_library} vig_base vig_graph vig_models vig_kernels vig_weights vig_image vig_data
                vig_tasks vig_runtime vig_pipeline
        EXPORT vig INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT vig NAMESPACE vig:: FILE vigTargets.cmake DESTINATION ${package_folder})
if(VIG_LIBRARY)
  install(TARGETS vig_shared EXPORT vigC INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT vigC NAMESPACE vig:: FILE vigCTargets.cmake DESTINATION ${package_folder})
  install(FILES include/vig/vig.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vig)
  # Its prefix is where the file lies.
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/vig.pc.in ${PROJECT_BINARY_DIR}/vig.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/vig.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/vigConfig.cmake.in ${PROJECT_BINARY_DIR}/vigConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vigConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/vigConfig.cmake ${PROJECT_BINARY_DIR}/vigConfigVersion.cmake
        DESTINATION ${package_folder})
install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")\nset(include \"${CMAKE_INSTALL_INCLUDEDIR}\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake)

install(TARGETS vig)
if(VIG_TORCH)
  # LibTorch may lie outside the system's folders.
  set_target_properties(vig-train PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS vig-train)
endif()
if(VIG_ONNX)
  install(TARGETS vig-onnx)
endif()
if(VIG_SERVER)
  install(TARGETS vig-serve)
endif()
# Where the programs look for it, seen from their own folder.
install(FILES models/default.safetensors DESTINATION share/vig)
install(FILES models/segment.safetensors models/detect.safetensors DESTINATION share/vig OPTIONAL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
