// Tables as comma-separated values (RFC 4180, lines ending in a newline).
#pragma once

#include <string>
#include <string_view>

namespace vig {

// A cell that may hold anything: quotes inside it are doubled.
std::string csv_quoted(std::string_view text);

}  // namespace vig
