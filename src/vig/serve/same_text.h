// Names of HTTP, in which capital letters do not matter.
#pragma once

#include <algorithm>
#include <string_view>

namespace vig {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace vig
