// Manual pages of `vig` and its commands, in the language of man(7).
#pragma once

#include <string>
#include <vector>

#include "vig/cli/describe.h"

namespace vig::cli {

// "vig-classify"; of the program itself "vig".
std::string page_name(const CommandText& command);

// The page of one of `commands`, which start with the program itself.
std::string manual_page(const CommandText& command, const std::vector<CommandText>& commands);

}  // namespace vig::cli
