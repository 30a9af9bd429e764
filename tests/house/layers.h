// The rules of tools/layers.txt and their application to source files.
#pragma once

#include <map>
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

struct HeavyHeader {
  std::string start;
  std::vector<std::string> files;  // the only ones that include it
};

struct Layers {
  std::vector<FolderRule> folders;
  std::vector<HeavyHeader> heavy;
  std::vector<std::string> public_headers;  // paths
  std::vector<HiddenName> hidden;
};

// Throws std::runtime_error with the line that it cannot read.
Layers parse_layers(std::string_view table);

// Contents of files by their paths relative to src/vig.
using SourceTree = std::map<std::string, std::string>;

// One sentence for each broken rule. The own includes of a file are checked one by one, then what
// it reaches through the headers of the tree.
std::vector<std::string> check_layers(const Layers& layers, const SourceTree& tree);

}  // namespace vig::test
