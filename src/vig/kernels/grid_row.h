// Which position of which image a row is.
#pragma once

#include <cstdint>

namespace vig {

// A row of a batch of grids: divisions once, then counting.
struct GridRow {
  int64_t image, y, x;

  GridRow(int64_t row, int64_t height, int64_t width)
      : image(row / (height * width)), y(row / width % height), x(row % width) {}
  // Moves along a line, at most to its end.
  void next(int64_t columns, int64_t height, int64_t width) {
    x += columns;
    if (x < width) return;
    x = 0;
    if (++y < height) return;
    y = 0;
    ++image;
  }
};

}  // namespace vig
