#include "vig/image/sliding_rows.h"

#include <algorithm>
#include <limits>

#include "vig/base/error.h"

namespace vig {

SlidingRows::SlidingRows(RegionSource& source, int level, const ImageRegion& region)
    : source_(source), level_(level), region_(region) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  if (level < 0 || level >= static_cast<int>(source.levels().size())) {
    fail_usage("level {}, expected 0 to {}", level, source.levels().size() - 1);
  }
  const RegionLevel& size = source.levels()[static_cast<size_t>(level)];
  const auto inside = [](int64_t start, int64_t length, int64_t side) {
    return start >= 0 && length >= 1 && length <= kMost && start < side && length <= side - start;
  };
  if (!inside(region.x, region.width, size.width) ||
      !inside(region.y, region.height, size.height)) {
    fail_usage(
        "a region of {}x{} pixels at {},{}, expected one inside the {}x{} pixels of level {}",
        region.width, region.height, region.x, region.y, size.width, size.height, level);
  }
}

void SlidingRows::keep(int first, int last) {
  constexpr int64_t kTile = 256;
  if (first < first_ || last < first || last > height()) {
    fail_usage("rows {} to {} after {}, of {}", first, last, first_, height());
  }
  const size_t row = static_cast<size_t>(width()) * 3;
  const int kept = std::clamp(first, first_, last_);
  rgb_.erase(rgb_.begin(),
             rgb_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(kept - first_) * row));
  first_ = kept;
  if (kept == last_) {  // nothing is left
    first_ = last_ = first;
  }
  if (last <= last_) return;
  const int64_t tiles_end = (region_.y + last + kTile - 1) / kTile * kTile;
  const auto end = static_cast<int>(std::min<int64_t>(tiles_end - region_.y, height()));
  rgb_.resize(static_cast<size_t>(end - first_) * row);
  read(last_, end);
  last_ = end;
}

void SlidingRows::read(int first, int last) {
  constexpr int64_t kPixels = int64_t{1} << 25;  // 100 MB at a time
  const int64_t columns = std::min<int64_t>(region_.width, kPixels);
  const int64_t rows = std::max<int64_t>(1, kPixels / columns);
  const size_t row = static_cast<size_t>(width()) * 3;
  for (int64_t y = first; y < last; y += rows) {
    for (int64_t x = 0; x < region_.width; x += columns) {
      const Image part =
          source_.read(level_, {region_.x + x, region_.y + y, std::min(columns, region_.width - x),
                                std::min(rows, last - y)});
      for (int i = 0; i < part.height; ++i) {
        std::copy_n(
            part.row(i), part.row_bytes(),
            rgb_.data() + static_cast<size_t>(y + i - first_) * row + static_cast<size_t>(x) * 3);
      }
    }
  }
}

Image SlidingRows::cut(int x, int y, int width, int height) const {
  if (x < 0 || width < 0 || width > this->width() - x || y < first_ || height < 0 ||
      height > last_ - y) {
    fail_usage("{}x{} pixels at {},{}, expected them in rows {} to {}", width, height, x, y, first_,
               last_);
  }
  Image part(width, height);
  const size_t row = static_cast<size_t>(this->width()) * 3;
  for (int i = 0; i < height; ++i) {
    std::copy_n(
        rgb_.data() + static_cast<size_t>(y + i - first_) * row + static_cast<size_t>(x) * 3,
        part.row_bytes(), part.row(i));
  }
  return part;
}

}  // namespace vig
