// Is a text XML? Enough of the rules for the images the program writes.
#pragma once

#include <string>
#include <string_view>

namespace vig::test {

// Why it is not well-formed, empty when it is: one root, tags that close in order, attributes that
// are quoted and differ, no stray < or &, UTF-8 without control characters.
std::string xml_problem(std::string_view text);

}  // namespace vig::test
