// The names in a folder.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace vig {

// In the order in which the system gives them, without "." and "..". Where the folder cannot be
// read, or not to its end, `error` says why. Instead of std::filesystem::directory_iterator, whose
// increment(error_code) ends the program when memory is lacking.
std::vector<std::string> folder_entries(const std::string& folder, std::error_code& error);

}  // namespace vig
