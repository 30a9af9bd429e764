// Labelled images for training and evaluation, from a folder, an archive or a list.
//
//   ROOT/CLASS/.../IMAGE          one unnamed split
//   ROOT/SPLIT/CLASS/.../IMAGE    SPLIT is train, val (valid, validation) or test
//   FOLDER or PATTERN of .tar files  data/shards.h
//   LIST.csv                        rows of path,label or path,label,split: data/csv_list.h
//
// Classes are the folders' names in the order of their bytes; labels count them from 0. ROOT is
// what remains after single folders are skipped, so that archives may hold everything in one
// (cifar10/train/cat/0001.jpg). Names that start with a dot, and __MACOSX, are not there. Classes
// of a list are its labels in the same order; its paths are relative to its folder, or absolute.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/base/memory.h"
#include "vig/data/archive.h"
#include "vig/data/data_report.h"
#include "vig/data/image_files.h"
#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig {

struct DatasetOptions {
  ArchiveOptions archive = {};
  DecodeOptions decode = {};
  // Decoded images are kept up to this many bytes, all splits together, first come first kept. 0
  // for data that is seen once.
  uint64_t cache_bytes = std::min(uint64_t{2} << 30, physical_memory() / 8);
  // Fewer classes throw: nothing can be learnt from one.
  size_t min_classes = 2;
  // Where there are splits, those to read, in the order of preference. The others are as good as
  // not there: test images without labels, or of fewer classes, do not affect training.
  std::vector<std::string> splits = {"train", "val", "test"};
  // Only the first of `splits` that is there.
  bool first_split_only = false;
};

class ImageStore;  // the archive and the decoded images, shared by all splits

// A list of samples, sorted by label, then by name: equal whether it came from a folder or from an
// archive of it. Those of shards are in the order in which they are read. Copies share the images.
class Dataset : public SampleSource {
 public:
  size_t size() const override { return samples_.size(); }
  const std::vector<std::string>& classes() const { return *classes_; }

  int label(size_t sample) const { return samples_[sample].label; }
  // Below the split's folder: "cat/0001.jpg". Of a list the path that it has.
  std::string_view name(size_t sample) const;
  std::string location(size_t sample) const override;
  std::string path(size_t sample) const override;

  // For any number of threads. Throws Error naming the location if the file is invalid.
  std::shared_ptr<const Image> decode(size_t sample) const;
  // With the label, an int, as target.
  Sample load(size_t sample) const override;

  // The samples of each shard, in the order in which they are read; none: the data is not in
  // shards.
  std::vector<std::vector<size_t>> shards() const;

  // These samples of it, in this order; the classes stay as they are.
  Dataset subset(std::span<const size_t> samples) const;

 private:
  friend class DatasetReader;
  friend class CsvDatasetReader;
  friend class ShardDatasetReader;
  Dataset() = default;
  void sort();  // by label, then by name
  struct Entry {
    uint32_t file;  // in the archive
    int32_t label;
  };

  std::shared_ptr<const ImageStore> store_;
  std::shared_ptr<const std::vector<std::string>> classes_;
  size_t prefix_ = 0;  // length of the split's folder in the names of files
  std::vector<Entry> samples_;
};

// What a path holds: either `whole`, or any of the others that were asked for, perhaps none. All
// have the same classes, and every class of each has images.
struct DatasetSplits {
  std::optional<Dataset> whole, train, val, test;
  std::vector<std::string> there;  // all splits by name, read or not; none where it is `whole`
  size_t ignored = 0;              // files that are no images by their extension
  DataReport report;               // rows of a list that are left out

  const std::vector<std::string>& classes() const;  // of what was read; throws Error if nothing
};

// Throws Error saying what was expected and what was found when the layout is another, a class has
// no images, splits disagree on the classes, or a list has no row that is good; (usage) when
// `splits` names another than the three.
DatasetSplits open_dataset(const std::string& path, const DatasetOptions& options = {});

struct HeldOut {
  Dataset train, validation;
};

// Takes `count` samples for validation, from each class in proportion to its size; fewer where that
// would leave a class without any for training, more where a class of two or more would have none
// for validation. Which ones depends on the seed and the samples' names alone. Throws Error (usage)
// unless 0 < count < size, and (input) when every class has one image.
HeldOut hold_out(const Dataset& dataset, size_t count, uint64_t seed);

}  // namespace vig
