// Images of an archive, decoded when asked for and kept while there is room.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "vig/data/archive.h"
#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig {

class ImageStore {
 public:
  ImageStore(std::shared_ptr<const Archive> archive, const DecodeOptions& options,
             uint64_t cache_bytes)
      : archive_(std::move(archive)),
        options_(options),
        room_(cache_bytes),
        kept_(archive_->files().size()) {}

  const Archive& archive() const { return *archive_; }

  // For any number of threads, each of which drops an image before it asks for the next one: what
  // is not kept takes memory from the budget until then. Throws Error.
  std::shared_ptr<const Image> decode(size_t file) const;

 private:
  LoadedImage load(size_t file) const;

  const std::shared_ptr<const Archive> archive_;
  const DecodeOptions options_;

  mutable std::mutex mutex_;
  mutable uint64_t room_;  // bytes that may still be kept
  mutable std::vector<std::shared_ptr<const Image>> kept_;
};

}  // namespace vig
