#include "vig/data/image_store.h"

#include <cstdint>

#include "vig/image/decode.h"

namespace vig {

LoadedImage ImageStore::load(size_t file) const {
  const std::string location = archive_->location(file);
  // What is compressed shows what it is before all of it is unpacked.
  uint8_t start[64];
  if (const size_t size = archive_->read_start(file, start))
    check_signature({start, size}, location);
  const FileSize size = archive_->size(file);
  return load_image({location, size.bytes, size.copied,
                     [&](std::vector<uint8_t>& scratch) { return archive_->read(file, scratch); }},
                    options_);
}

std::shared_ptr<const Image> ImageStore::decode(size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    if (kept_[file] != nullptr) return kept_[file];
  }
  // With its memory, so that images in use are counted as long as they are.
  auto loaded = std::make_shared<LoadedImage>(load(file));
  const std::shared_ptr<const Image> image(loaded, &loaded->image);

  constexpr size_t kBookkeeping = 64;  // of the allocator and the shared pointer
  const size_t cost = image->rgb.capacity() + sizeof(Image) + kBookkeeping;
  const std::lock_guard lock(mutex_);
  if (kept_[file] != nullptr) return kept_[file];  // another thread was faster
  if (cost <= room_) {
    room_ -= cost;
    kept_[file] = image;
    loaded->memory.shrink_to(0);  // counted here from now on
  }
  return image;
}

}  // namespace vig
