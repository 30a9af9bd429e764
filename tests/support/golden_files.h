// Files of golden cases: those in the tree, and all of them beside it where they are.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/tree.h"

namespace vig::test {

// FOLDER/*.safetensors, each name once.
inline std::vector<std::string> golden_files(const std::string& in_tree,
                                             const std::string& beside) {
  const char* shared = std::getenv("VIG_SHARED");
  const std::filesystem::path root = shared != nullptr
                                         ? std::filesystem::path(shared)
                                         : std::filesystem::path(kSourceDir) / "../shared";
  std::set<std::string> seen;
  std::vector<std::string> files;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(kFixtures) / "golden" / in_tree, root / "golden" / beside}) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      if (entry.path().extension() != ".safetensors") continue;
      if (seen.insert(entry.path().filename().string()).second) {
        files.push_back(entry.path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::string> dense_files() { return golden_files("dense", "dense"); }

}  // namespace vig::test
