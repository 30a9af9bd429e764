// Access control: whether a request comes from this machine, and whether it has the token.
#pragma once

#include <string>
#include <string_view>

namespace vig {

// A foreign page can make a browser send requests to this machine, under its own name
// as the host or with itself as the origin. Both may be empty.
bool names_this_machine(std::string host);
bool is_of_this_machine(const std::string& origin);

// "Bearer TOKEN", of which the first word may have any letters' case.
bool shows_token(std::string_view authorization, std::string_view token);

}  // namespace vig
