// Maps on another grid, every channel by itself: bilinear with half-pixel centres, the border
// repeated and no antialiasing, or the nearest row and column. Maps are [batch, height, width,
// channels]; resize.h is for images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {

// What one line or column of the result is made of: (1 - weight) first + weight second. Where the
// weight is 0 both are the same.
struct MapTap {
  int32_t first = 0;
  int32_t second = 0;
  float weight = 0.0f;
};

// For each of `out` lines over `in` of them: at i the position max(0, (i + 0.5) in / out - 0.5).
std::vector<MapTap> bilinear_taps(int64_t in, int64_t out);
// At i the line floor(i in / out).
std::vector<MapTap> nearest_taps(int64_t in, int64_t out);

// The two axes of one resizing.
struct MapGrids {
  int64_t height = 0;  // of what is resized
  int64_t width = 0;
  std::vector<MapTap> lines;    // one for each line of the result
  std::vector<MapTap> columns;  // one for each of its columns

  static MapGrids bilinear(int64_t height, int64_t width, int64_t out_height, int64_t out_width) {
    return {height, width, bilinear_taps(height, out_height), bilinear_taps(width, out_width)};
  }
  static MapGrids nearest(int64_t height, int64_t width, int64_t out_height, int64_t out_width) {
    return {height, width, nearest_taps(height, out_height), nearest_taps(width, out_width)};
  }
  int64_t out_height() const { return static_cast<int64_t>(lines.size()); }
  int64_t out_width() const { return static_cast<int64_t>(columns.size()); }
};

struct MapResizeArgs {
  const MapGrids* grids = nullptr;
  const float* in = nullptr;  // the whole batch, rows in_stride apart
  int64_t in_stride = 0;
  int64_t channels = 0;
  int64_t first_row = 0;  // rows to compute, numbered over the whole batch
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
  const float* residual = nullptr;  // of the first row, added to the result; may be out, or null
  int64_t residual_stride = 0;
};

void map_resize(const MapResizeArgs& args);

}  // namespace vig
