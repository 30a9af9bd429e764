// What readers of regions share.
#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/region_formats.h"

namespace vig {

void check_region_size(const std::string& name, int64_t width, int64_t height) {
  constexpr int64_t kMaxSide = int64_t{1} << 24;
  if (width >= 1 && height >= 1 && width <= kMaxSide && height <= kMaxSide) return;
  fail("{}: an image of {}x{} pixels, expected sides from 1 to {} (a fixed limit)", name, width,
       height, kMaxSide);
}

RowBand::RowBand(int64_t width, int64_t height, uint64_t cache_bytes)
    : width_(width),
      capacity_(std::clamp<int64_t>(
          static_cast<int64_t>(cache_bytes / (static_cast<uint64_t>(width) * 3)), 1, height)) {}

Image RowBand::read(RowReader& reader, const ImageRegion& region) {
  // Before any row is read, so that memory that cannot be had leaves the state as it was.
  Image part(static_cast<int>(region.width), static_cast<int>(region.height));
  rows_.resize(static_cast<size_t>(capacity_ * width_ * 3));
  const auto copy = [&](int64_t y) {
    std::copy_n(kept(y) + region.x * 3, part.row_bytes(), part.row(static_cast<int>(y - region.y)));
  };
  if (region.y < first_ || failed_) {
    first_ = next_ = 0;
    failed_ = true;  // until the restart succeeds
    reader.restart();
    failed_ = false;
  }
  const int64_t end = region.y + region.height;
  for (int64_t y = region.y; y < std::min(next_, end); ++y) copy(y);
  for (; next_ < end; ++next_) {
    failed_ = true;
    reader.read_row(kept(next_));
    failed_ = false;
    first_ = std::max<int64_t>(first_, next_ + 1 - capacity_);
    if (next_ >= region.y) copy(next_);
  }
  return part;
}

ImageRegion stored_region(const ImageRegion& region, int64_t stored_width, int64_t stored_height,
                          int orientation) {
  ImageRegion stored = region;
  if (orientation > 4) {
    std::swap(stored.x, stored.y);
    std::swap(stored.width, stored.height);
  }
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  if (from_right) stored.x = stored_width - stored.x - stored.width;
  if (from_below) stored.y = stored_height - stored.y - stored.height;
  return stored;
}

}  // namespace vig
