# vig_library(NAME LIBS...): one folder of src/vig is one static library `vig_NAME`, installed as `vig::NAME`.
# Sources come from the tree; which folder may include which is checked against tools/layers.txt by a test.

# How everything in this tree is compiled. Linked privately, so that a project that uses the libraries
# compiles its own code with its own options.
add_library(vig_options INTERFACE)
target_include_directories(vig_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
# -ffp-contract=off: a*b+c is fused only where a kernel says so, so every build gives the same bits.
target_compile_options(vig_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off)
if(VIG_DEVELOPER)
  target_compile_options(vig_options INTERFACE -Werror)
endif()
if(VIG_INSTRUMENT)
  if(VIG_INSTRUMENT STREQUAL "address")
    set(instruments -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  elseif(VIG_INSTRUMENT STREQUAL "thread")
    set(instruments -fsanitize=thread -fno-omit-frame-pointer)
  elseif(VIG_INSTRUMENT STREQUAL "coverage")
    set(instruments --coverage -fprofile-update=atomic -fprofile-abs-path)
  else()
    message(FATAL_ERROR "VIG_INSTRUMENT is ${VIG_INSTRUMENT}, expected address, thread, coverage or OFF")
  endif()
  target_compile_options(vig_options INTERFACE
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:vig_uninstrumented>>>:${instruments}>")
  target_link_options(vig_options INTERFACE ${instruments})
endif()

# Where more optimisation would cost the compiler more than it saves when the code runs: programs' options
# and output; tests. Other builds than Release optimise as their presets say.
set(vig_quick_options)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 gives these warnings falsely for "text" + std::string(...).
  list(APPEND vig_quick_options -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
set(vig_test_options ${vig_quick_options})
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  list(APPEND vig_quick_options -O1)
  list(APPEND vig_test_options -O0)
endif()

# What nearly every file includes: half of the time to compile a small one.
set(vig_common_headers <fmt/format.h> <algorithm> <functional> <map> <memory> <span> <string>
    <string_view> <vector>)

# For programs and shared libraries alike; no program replaces our functions when linking.
set(vig_library_options -fPIC -fno-semantic-interposition)

function(vig_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  add_library(vig_${name} STATIC ${sources})
  target_compile_options(vig_${name} PRIVATE ${vig_library_options})
  target_compile_features(vig_${name} PUBLIC cxx_std_20)
  target_include_directories(vig_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(vig_${name} PRIVATE $<BUILD_INTERFACE:vig_options> PUBLIC ${ARGN})
  set_target_properties(vig_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()

# vig_groups(COUNT TARGET...): compiles these targets in groups of COUNT files, which halves the processor time of
# a first build. Names in unnamed namespaces of a folder must differ then. Whoever changes one file waits for its
# group; -DCMAKE_UNITY_BUILD=OFF compiles file by file. CMake's own UNITY_BUILD names files by their absolute
# paths, so that no two copies of the tree would share what a compiler cache holds.
function(vig_groups count)
  if(DEFINED CMAKE_UNITY_BUILD AND NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(sources ${target} SOURCES)
    set(compiled)
    set(together)
    foreach(source IN LISTS sources)
      get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
      get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
      cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
      if(NOT alone AND NOT definitions AND path MATCHES "^${PROJECT_SOURCE_DIR}/(src|tests)/(.+\\.cpp)$")
        list(APPEND together ${CMAKE_MATCH_2})
      else()
        list(APPEND compiled ${source})
      endif()
    endforeach()
    set(number 0)
    while(together)
      list(SUBLIST together 0 ${count} group)
      list(REMOVE_ITEM together ${group})
      list(TRANSFORM group REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN group "" text)
      set(file ${CMAKE_CURRENT_BINARY_DIR}/groups/${target}/${number}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      list(APPEND compiled ${file})
      math(EXPR number "${number} + 1")
    endwhile()
    set_property(TARGET ${target} PROPERTY SOURCES ${compiled})
  endforeach()
endfunction()

# vig_quick(NAME): a library whose running takes no time worth saving is compiled with little optimisation.
function(vig_quick name)
  target_compile_options(vig_${name} PRIVATE ${vig_quick_options})
endfunction()
