// Scripts with which shells complete the commands and options of `vig`.
#pragma once

#include <string>
#include <vector>

#include "vig/cli/describe.h"

namespace vig::cli {

// `commands` starts with the program itself.
std::string bash_completion(const std::vector<CommandText>& commands);
std::string zsh_completion(const std::vector<CommandText>& commands);
std::string fish_completion(const std::vector<CommandText>& commands);

}  // namespace vig::cli
