// Names of classes from a text file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig {

// One name a line; spaces around it, empty lines at the end and a byte order mark do not count.
// Throws for a name that is not UTF-8; `where` begins the message.
std::vector<std::string> parse_class_names(const std::string& where, std::string_view text);

// The same of a file of at most 4 MB. Throws when it cannot be read or is not a regular file.
std::vector<std::string> read_class_names(const std::string& file);

}  // namespace vig
