// What git says about the files of a tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace vig::test {

// Tracked files that exist, relative to `root`; empty where there is no git or no repository. Files
// that a user keeps in the tree beside ours are not among them.
std::vector<std::string> tracked_files(const std::filesystem::path& root);

// Copies tracked files into `folder`: plain files, no links back into the tree.
void copy_tracked_files(const std::filesystem::path& root, const std::filesystem::path& folder);

// Those of `files`, relative to `root` and existing or not, that git would show as untracked.
std::vector<std::string> unignored_files(const std::filesystem::path& root,
                                         const std::vector<std::string>& files);

}  // namespace vig::test
