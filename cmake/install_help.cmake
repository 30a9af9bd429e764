# Run by `cmake --install` with `build`, the folder of the build, `man`, the folder for manual pages, and
# `part`, the component: installs the manual pages of its commands, and with the program the shells' completion.
cmake_policy(VERSION 3.25)
string(RANDOM LENGTH 16 own)  # two installations may run at a time
set(made ${build}/help-${own})
execute_process(COMMAND ${build}/bin/vig man --out ${made}/man1 COMMAND_ERROR_IS_FATAL ANY)
find_program(gzip gzip)
if(gzip)
  file(GLOB pages ${made}/man1/*.1)
  execute_process(COMMAND ${gzip} -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(GLOB pages ${made}/man1/*)
set(of_training "/vig-(train|receptive-field)\\.")  # commands of vig-train
if(part STREQUAL "training")
  list(FILTER pages INCLUDE REGEX ${of_training})
else()
  list(FILTER pages EXCLUDE REGEX ${of_training})
  foreach(script bash:bash-completion/completions/vig zsh:zsh/vendor-completions/_vig
                 fish:fish/vendor_completions.d/vig.fish)
    string(REGEX MATCH "^([a-z]+):(.*)/(.*)$" unused ${script})
    file(MAKE_DIRECTORY ${made}/${CMAKE_MATCH_1})
    set(file ${made}/${CMAKE_MATCH_1}/${CMAKE_MATCH_3})
    set(folder ${CMAKE_INSTALL_PREFIX}/share/${CMAKE_MATCH_2})
    execute_process(COMMAND ${build}/bin/vig completion ${CMAKE_MATCH_1} OUTPUT_FILE ${file}
                    COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL ${file} DESTINATION ${folder})
  endforeach()
endif()
file(INSTALL ${pages} DESTINATION ${CMAKE_INSTALL_PREFIX}/${man}/man1)
file(REMOVE_RECURSE ${made})
