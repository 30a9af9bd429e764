// The commands of `vig` with those that are the work of helper programs.
#pragma once

#include "vig/cli/command_line.h"

namespace vig::cli {

// `vig` itself first, then its commands as its help lists them. A command of a helper program has
// the options that the program gives it; where the program is not there, it has none but --help.
std::vector<CommandText> describe_all(const CommandLine& line);

// Whether the command is known by its name alone, because its program is not there.
bool is_undescribed(const CommandText& command);

}  // namespace vig::cli
