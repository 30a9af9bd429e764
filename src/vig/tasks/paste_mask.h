// The small mask of a box, laid into the image.
#pragma once

#include <span>
#include <vector>

#include "vig/image/box.h"
#include "vig/image/mask.h"

namespace vig {

// The probabilities [side, side] of a mask, spread over a box of an image: pixel (x, y) samples at
// ((x + 0.5 - x1) / (x2 - x1), (y + 0.5 - y1) / (y2 - y1)), bilinearly between the centres of cells
// and with zeros around them. An empty box has no mask: all is 0.
class SpreadMask {
 public:
  SpreadMask(std::span<const float> probabilities, int side, const Box& box);

  // The probabilities of the pixels (x, 0), (x, 1), ...
  void column(int x, std::span<float> out);
  // Columns and rows outside these are 0: [first, last) in an image of this width or height.
  struct Range {
    int first = 0, last = 0;
  };
  Range columns(int width) const;
  Range rows(int height) const;

 private:
  std::span<const float> probabilities_;
  int side_;
  Box box_;
  std::vector<float> line_;  // the cells of one column of pixels
};

// The pixels of an image where the probability is at least a half.
Mask paste_mask(std::span<const float> probabilities, int side, const Box& box, int width,
                int height);

}  // namespace vig
