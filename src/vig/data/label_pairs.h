// Images with label maps, one class for every pixel.
//
//   LIST.txt                                    one unnamed split; lines "IMAGE LABELS"
//   ROOT/SPLIT.txt                              the same for splits (train, val, test)
//   ROOT/SPLIT/IMAGE, ROOT/SPLITannot/LABELS  CamVid as SegNet uses it
//   ROOT/images/SPLIT/IMAGE, ROOT/annotations/SPLIT/LABELS   ADE20K (training, validation)
//   ROOT/images/IMAGE, ROOT/labels/LABELS     one unnamed split
//
// ROOT is a folder or an archive; everything in it may lie in one folder. "labels", "annotations"
// and "masks" mean the same. Where folders are paired, names are equal but for how they end. Label
// maps are PNG files (image/label_file.h). Names of lists are relative to the list. Nothing outside
// of its folder, or of ROOT, is ever opened, not through links either.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/data/data_report.h"
#include "vig/data/dataset.h"
#include "vig/data/image_files.h"
#include "vig/image/image.h"

namespace vig {

struct LabelPairOptions {
  ArchiveOptions archive = {};
  // As stored: what the label maps were drawn on.
  DecodeOptions decode = {.apply_orientation = false};
  uint64_t cache_bytes = DatasetOptions().cache_bytes;  // see DatasetOptions
  std::vector<std::string> splits = {"train", "val", "test"};
  bool first_split_only = false;

  // The value in files of pixels that have no class, beside 255. By default that of the last line
  // of classes.txt if it is "unlabelled", "void" or the like; else none.
  std::optional<int> ignored = {};
  // Value 0 has no class, and value k is class k - 1. By default so in ADE20K's layout, by the
  // names of its splits.
  std::optional<bool> zero_ignored = {};
  // How many classes there are. By default as many as classes.txt beside the splits names, else
  // the largest label of the training split (or the only one) + 1.
  std::optional<int> classes = {};
  // Names, one per class, instead of those of classes.txt.
  std::vector<std::string> names = {};
};

struct LabelPairsPart;  // what copies share: archive, images, pairs, classes

// Sorted by name, or in the order of the list. Copies share everything.
class LabelPairs : public SampleSource {
 public:
  size_t size() const override { return samples_.size(); }
  // From classes.txt, else indices.
  const std::vector<std::string>& classes() const;

  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override;
  std::string label_location(size_t sample) const;

  // Classes from 0, kNoLabel where there is none. Throws Error naming location and value for labels
  // that are no class.
  LabelMap labels(size_t sample) const;
  // With the LabelMap as target. Throws Error when it has another size than the image.
  Sample load(size_t sample) const override;

  LabelPairs subset(std::span<const size_t> samples) const;
  const DataReport& problems() const;  // images without labels, labels without images

 private:
  friend class LabelPairsReader;
  friend DataReport check(LabelPairs&, const CheckOptions&);
  LabelPairs() = default;

  std::shared_ptr<const LabelPairsPart> part_;
  std::vector<uint32_t> samples_;  // pairs of the part
};

// Either `whole`, or any of the others. All have the same classes.
struct LabelPairSplits {
  std::optional<LabelPairs> whole, train, val, test;
  std::vector<std::string> there;  // all splits by name, read or not

  const std::vector<std::string>& classes() const;  // of what was read; throws Error if nothing
};

LabelPairSplits open_label_pairs(const std::string& path, const LabelPairOptions& options = {});

// Leaves out pairs of which one is missing or damaged, whose sizes differ, or whose labels are no
// class. Throws Error when no pair is left.
DataReport check(LabelPairs& data, const CheckOptions& options = {});

// The pairs of names in a list, for LabelPairs and tests of hostile lists. Names are apart by tabs
// if the line has one, else by spaces; empty lines and those that begin with # do not count.
// Throws Error naming file and line.
std::vector<std::pair<std::string, std::string>> parse_pair_list(const std::string& name,
                                                                 std::string_view text);

}  // namespace vig
