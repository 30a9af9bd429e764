// Data sets in many tar files ("shards"), which are read in their order and never unpacked:
//
//   FOLDER, which holds .tar files and neither folders nor images
//   PATTERN with braces: train-{000..146}.tar, {a,b}-{0..9}.tar
//
// A shard holds CLASS/IMAGE, or samples of WebDataset: KEY.jpg beside KEY.cls, a file with the
// class, or beside KEY.json, an object with a field "cls" or "label".
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vig/data/archive.h"
#include "vig/data/shard_index.h"
#include "vig/image/image_file.h"

namespace vig {

// A pattern with {A..B} and {A,B,...}, which may nest, as shells expand it: numbers have as many
// digits as the longer end where one begins with a zero. Text without braces is itself. Throws a
// usage error for more than a million names.
std::vector<std::string> expand_braces(std::string_view pattern);

// The shards that a path names, sorted; none where it is no such folder or pattern. Throws Error
// where the pattern names a file that is not there.
std::vector<std::string> find_shards(const std::string& path);

// The images of shards, in the order of the shards and within each in that of the tar file.
class ShardArchive final : public Archive {
 public:
  // Reads or makes the index of each. Throws Error where one is damaged.
  explicit ShardArchive(const std::vector<std::string>& shards);

  FileSize size(size_t file) const override;
  std::span<const uint8_t> read(size_t file, std::vector<uint8_t>& scratch) const override;
  size_t shard_count() const override { return shards_.size(); }
  size_t shard(size_t file) const override { return images_[file].shard; }

  const std::string& shard_path(size_t shard) const { return shards_[shard].path; }
  // The class of an image as it stands there; empty: none is given.
  const std::string& label(size_t file) const { return labels_[images_[file].label]; }
  uint64_t ignored() const { return ignored_; }  // files that are neither images nor labels

 private:
  struct Shard {
    std::string path;
    ShardStamp stamp;
  };
  struct Location {
    uint64_t offset;
    uint32_t bytes, shard, label;
  };

  std::shared_ptr<const ImageFile> open(size_t shard) const;

  std::vector<Shard> shards_;
  std::vector<Location> images_;
  std::vector<std::string> labels_;  // each once
  uint64_t ignored_ = 0;

  // Those that were opened last, the latest last: opening a file of a network costs more than
  // reading an image.
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<size_t, std::shared_ptr<const ImageFile>>> open_;
};

}  // namespace vig
