// Depthwise convolution, and the patches of a dense one. Grids are [batch, height, width,
// channels]; a row is one position, numbered over the whole batch, so that work can be split
// anywhere.
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
};

// sum of the window with one filter a channel, begun with the bias; then a function of the sums.
struct DepthwiseConvArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
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

// The patches a dense convolution sees, one per row: [groups, kernel, kernel, channels / groups],
// zero where outside.
struct PatchArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t groups = 1;
  int64_t first_row = 0;
  int64_t last_row = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

void gather_patches(const PatchArgs& args);

// [out, in, kernel, kernel] to [out, kernel, kernel, in], the order of a group of gathered patches.
void patch_weight(const float* weight, int64_t out, int64_t in, int64_t kernel, float* to);

}  // namespace vig
