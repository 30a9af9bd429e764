// Windows of grids, and depthwise convolution; conv_dense.h has the others. Grids are [batch,
// height, width, channels]; a row is one position, numbered over the whole batch, so that work can
// be split anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"

namespace vig {

struct ConvGrid {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// Square windows of a grid that is padded with zeros. What is behind the grid is padded as far as
// the last window reaches.
struct Windows {
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t top = 1;     // lines of padding above the grid
  int64_t left = 1;    // columns of padding to its left
  int64_t height = 0;  // of the grid of windows
  int64_t width = 0;

  // As many as fit into a grid with `padding` lines and columns on all sides.
  static Windows over(const ConvGrid& grid, int64_t kernel, int64_t stride, int64_t padding) {
    const auto count = [&](int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
    return {kernel, stride, padding, padding, count(grid.height), count(grid.width)};
  }
  int64_t positions() const { return height * width; }
};

// The sum of the window with one filter a channel, then a function of it. Every sum is one chain of
// fused multiply-adds over the lines and columns of the kernel, begun with the bias.
struct DepthwiseConvArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;              // of at most 31 x 31
  const float* taps = nullptr;  // [kernel * kernel, channels], made by depthwise_taps
  const float* bias = nullptr;  // [channels] or null
  Elementwise function = Elementwise::kIdentity;
  int64_t first_row = 0;  // rows to compute, of the grid of windows
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
};

// From the published [channels, 1, kernel, kernel].
void depthwise_taps(const float* weight, int64_t channels, int64_t kernel, float* taps);
void depthwise_conv(const DepthwiseConvArgs& args);

// [out, in, kernel, kernel] to [out, kernel, kernel, in]: channels last, as in grids.
void patch_weight(const float* weight, int64_t out, int64_t in, int64_t kernel, float* to);

}  // namespace vig
