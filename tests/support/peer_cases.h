// Golden cases of other families than ViG: those in the tree, and those of a folder shared/golden
// beside it where there is one.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace vig::test {

// The cases of a family, one of each name: paths of .safetensors files.
inline std::vector<std::string> peer_cases(const std::string& family) {
  std::vector<std::string> names, files;
  for (const std::filesystem::path& folder :
       {std::filesystem::path(VIG_TEST_DATA) / "golden/peers",
        std::filesystem::path(VIG_SOURCE_DIR) / "../shared/golden/peers"}) {
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".safetensors") || !name.starts_with(family + "_")) continue;
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      files.push_back(entry.path().string());
    }
  }
  return files;
}

}  // namespace vig::test
