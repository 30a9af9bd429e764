// The names in a folder.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace vig {

// What the system says of an entry when it lists the folder, without being asked about the file
// itself. Unknown: a link, or a file system that does not say.
enum class EntryKind : uint8_t { kUnknown, kFile, kFolder, kOther };

struct FolderEntry {
  std::string name;
  EntryKind kind = EntryKind::kUnknown;
};

// In the order in which the system gives them, without "." and "..". Where the folder cannot be
// read, or not to its end, `error` says why. Instead of std::filesystem::directory_iterator, whose
// increment(error_code) ends the program when memory is lacking.
std::vector<FolderEntry> list_entries(const std::string& folder, std::error_code& error);
// Their names alone.
std::vector<std::string> folder_entries(const std::string& folder, std::error_code& error);

}  // namespace vig
