// All files below a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vig {

struct FolderListing {
  // Relative to the folder, parts joined by '/', sorted folder by folder. Links are followed, but
  // not back to a folder that they lie in; hidden folders are left out. Nothing is listed, but a
  // problem, when links lead to a folder by more than 256 paths.
  std::vector<std::string> files;
  std::vector<std::string> folders;
  // Folders that could not be read: one sentence each.
  std::vector<std::string> problems;
};

FolderListing list_folder(const std::filesystem::path& folder);

}  // namespace vig
