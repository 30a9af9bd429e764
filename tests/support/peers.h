// Reference data of the rival families.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace vig::test {

// More reference data than the tree holds; it may not be there.
inline std::filesystem::path shared_folder(const std::filesystem::path& source) {
  const char* shared = std::getenv("VIG_SHARED");
  return shared != nullptr ? std::filesystem::path(shared) : source / "../shared";
}

// The golden cases of a family of rivals, FAMILY_*.safetensors: those of the tree, and more where
// they are there.
inline std::vector<std::string> peer_cases(const std::filesystem::path& data,
                                           const std::filesystem::path& source,
                                           const std::string& family) {
  std::vector<std::string> files;
  for (const auto& folder : {data / "golden/peers", shared_folder(source) / "golden/peers"}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(family + "_") && name.ends_with(".safetensors")) {
        files.push_back(entry.path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace vig::test
