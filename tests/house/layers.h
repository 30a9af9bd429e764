// The rules of tools/layers.txt and their application to one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig::test {

struct FolderRule {
  std::string folder;
  std::vector<std::string> own;      // folders, or headers by their path
  std::vector<std::string> foreign;  // how the header's name starts
};

struct HiddenName {
  std::string start;
  std::vector<std::string> excused;
};

struct Layers {
  std::vector<FolderRule> folders;
  std::vector<std::string> public_headers;  // paths; a last part of *.h stands for every header
  std::vector<HiddenName> hidden;
};

// Raises std::runtime_error with the line that it cannot read.
Layers parse_layers(std::string_view table);

// One sentence for each broken rule. `path` is relative to src/vig.
std::vector<std::string> check_layers(const Layers& layers, std::string_view path,
                                      std::string_view source);

}  // namespace vig::test
