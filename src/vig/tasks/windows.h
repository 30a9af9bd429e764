// Windows that slide over an image too large to be seen at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vig {

struct InputWindow {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const InputWindow&) const = default;
};

// Windows of side x side pixels, `stride` apart, row by row; the last ones of an axis are moved
// back so that they end with the image. An image shorter than `side` along an axis is seen whole
// there. A stride of 0: one window, the whole image.
std::vector<InputWindow> sliding_windows(int width, int height, int side, int stride);
// How many there are, without making them.
int64_t count_windows(int width, int height, int side, int stride);

// Those of one row each, from the top.
std::vector<std::span<const InputWindow>> window_rows(std::span<const InputWindow> windows);

}  // namespace vig
