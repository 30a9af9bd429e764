# Run by `cmake --install` with `source`, the tree, and `include`, the folder for headers: copies the public
# headers of tools/layers.txt, which include each other alone.
cmake_policy(VERSION 3.25)
file(READ ${source}/tools/layers.txt layers)
string(REGEX REPLACE "^.*\n\\[public\\]\n" "\n" layers "${layers}")
string(REGEX REPLACE "\n\\[.*$" "\n" layers "${layers}")
string(REGEX MATCHALL "\n[a-z][^ #\n]*\\.h" headers "${layers}")

foreach(header IN LISTS headers)
  string(STRIP ${header} header)
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL ${source}/src/vig/${header} DESTINATION ${CMAKE_INSTALL_PREFIX}/${include}/vig/${folder})
endforeach()
