#include "vig/data/picture_store.h"

#include <cstdint>

namespace vig {

std::shared_ptr<const Image> PictureStore::decode(size_t file) const {
  {
    const std::lock_guard lock(mutex_);
    if (kept_[file] != nullptr) return kept_[file];
  }
  std::vector<uint8_t> scratch;
  const auto bytes = archive_->read(file, scratch);
  auto image = std::make_shared<const Image>(decode_image(bytes, archive_->place(file), options_));

  constexpr size_t kBookkeeping = 64;  // of the allocator and the shared pointer
  const size_t cost = image->rgb.capacity() + sizeof(Image) + kBookkeeping;
  const std::lock_guard lock(mutex_);
  if (kept_[file] != nullptr) return kept_[file];  // another thread was faster
  if (cost <= room_) {
    room_ -= cost;
    kept_[file] = image;
  }
  return image;
}

}  // namespace vig
