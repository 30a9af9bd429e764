// A small version of an image that comes row by row.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// The mean of squares of a whole number of pixels, so that the longer side is at most `side`.
class RowShrinker {
 public:
  RowShrinker(int64_t width, int64_t height, int side);

  int64_t factor() const { return factor_; }
  // The next `count` rows of RGB, from the top.
  void add(const uint8_t* rows, int64_t count);
  Image finish();

 private:
  void end_row();

  int64_t width_, height_, factor_;
  int64_t row_ = 0;  // of the image
  std::vector<uint64_t> sums_;
  Image small_;
};

}  // namespace vig
