// Which files of an archive are images and which are their label maps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/data/data_report.h"
#include "vig/data/dense_files.h"

namespace vig {

struct FilePair {
  uint32_t image;
  uint32_t labels;
};

struct PairList {
  std::vector<FilePair> pairs;
  DataReport problems;  // of which one is missing
};

struct PairLayout {
  std::string root;                       // the folder that holds everything
  std::map<std::string, PairList> lists;  // by split; "" for the only one of no split
  bool ade = false;                       // the splits are called as in ADE20K
};

// Nothing where the layout is none of those of label_pairs.h. Throws Error for lists that are
// damaged.
std::optional<PairLayout> find_label_pairs(const FilesByName& files);
bool has_label_pairs(const FilesByName& files);  // without reading lists whole

// The pairs that a list names, relative to `root`, or by their ends where names are absolute.
PairList read_pair_list(const FilesByName& files, const std::string& root, const std::string& name,
                        std::string_view text);

// Of classes.txt, or ADE20K's objectInfo150.txt; empty where there is none.
std::vector<std::string> read_pair_classes(const FilesByName& files, const std::string& root);

}  // namespace vig
