// Golden cases and manifests of other backbones: the small ones in the tree, all of them beside it
// where they are.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/tree.h"
#include "vig/models/family.h"

namespace vig::test {

inline std::filesystem::path peers_in_tree() {
  return std::filesystem::path(kFixtures) / "golden/peers";
}

// May not exist.
inline std::filesystem::path peers_beside_tree() {
  const char* shared = std::getenv("VIG_SHARED");
  const std::filesystem::path root = shared != nullptr
                                         ? std::filesystem::path(shared)
                                         : std::filesystem::path(kSourceDir) / "../shared";
  return root / "golden/peers";
}

inline std::string case_name(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

// The family that the description beside a case names; empty where there is none.
inline std::string case_family(const std::string& file) {
  std::ifstream in(std::filesystem::path(file).replace_extension(".json"));
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::smatch match;
  const std::regex family("\"family\"\\s*:\\s*\"([^\"]*)\"");
  return std::regex_search(text, match, family) ? match[1].str() : "";
}

// The networks among them of families that there are, FAMILY_CASE.safetensors, each once.
inline std::vector<std::string> peer_cases() {
  std::set<std::string> seen;
  std::vector<std::string> files;
  for (const std::filesystem::path& folder : {peers_in_tree(), peers_beside_tree()}) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() != ".safetensors") continue;
      const std::string named = case_family(entry.path().string());
      const bool known = std::ranges::any_of(
          model_families(), [&](const Family& family) { return family.name == named; });
      if (!known || !name.starts_with(named + "_")) continue;
      if (seen.insert(name).second) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace vig::test
