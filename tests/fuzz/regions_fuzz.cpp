#include <algorithm>

#include "fuzz/targets.h"
#include "vig/image/region_formats.h"

namespace vig::fuzz {

// Corners of every level, each read twice: what is kept between reads changes nothing.
void run_regions(Bytes bytes) {
  constexpr int64_t kSide = 48, kMaxRows = 4096;
  const RegionLimits limits = {
      .decode = {.max_pixels = 1 << 10}, .max_region_pixels = 1 << 14, .cache_bytes = 1 << 14};
  const auto source = open_file_regions(memory_bytes(bytes), "x", limits);
  if (source == nullptr) return;
  check(!source->levels().empty(), "no levels");
  for (size_t i = 0; i < std::min<size_t>(source->levels().size(), 4); ++i) {
    const RegionLevel& level = source->levels()[i];
    check(level.width > 0 && level.height > 0, "a level without pixels");
    check(level.downsample >= 1, "a level larger than the image");
    const int64_t width = std::min(level.width, kSide), height = std::min(level.height, kSide);
    // Rows in order take time for all above.
    const bool far = source->sequential() && level.height > kMaxRows;
    const ImageRegion corners[] = {
        {0, 0, width, height},
        {level.width - width, far ? 0 : level.height - height, width, height}};
    for (const ImageRegion& region : corners) {
      const Image first = source->read(static_cast<int>(i), region);
      check(first.width == region.width && first.height == region.height, "another size");
      check(first == source->read(static_cast<int>(i), region), "another result");
    }
  }
}

}  // namespace vig::fuzz
