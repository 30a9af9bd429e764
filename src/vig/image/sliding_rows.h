// Rows of a region from the top, each read once: what windows that slide over it share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vig/image/region_source.h"

namespace vig {

// In memory are the rows asked for and up to 255 more: reading ends at multiples of 256 rows, as
// tiles do.
class SlidingRows {
 public:
  // The source outlives it. Throws Error (usage) where the region is not inside of the level or has
  // a side above 2^31 - 1.
  SlidingRows(RegionSource& source, int level, const ImageRegion& region);

  int width() const { return static_cast<int>(region_.width); }
  int height() const { return static_cast<int>(region_.height); }

  // Makes rows [first, last) available and forgets those above. `first` never decreases.
  void keep(int first, int last);
  // Columns and rows of the region, of rows that are kept.
  Image cut(int x, int y, int width, int height) const;

 private:
  void read(int first, int last);

  RegionSource& source_;
  int level_;
  ImageRegion region_;
  int first_ = 0, last_ = 0;  // rows in memory
  std::vector<uint8_t> rgb_;
};

}  // namespace vig
