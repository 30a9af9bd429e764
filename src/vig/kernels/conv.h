// The two ways a position sees its neighbours. Grids are [batch, height, width, channels]; a row is
// one position, numbered over the whole batch, so that work can be split anywhere.
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

// Zero padding, then a function of the sums. Every output is one chain of fused multiply-adds over
// the lines and columns of the kernel, begun with the bias.
struct DepthwiseConvArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  int64_t kernel = 3;           // at most 31
  const float* taps = nullptr;  // [kernel * kernel, channels], made by depthwise_taps
  Elementwise function = Elementwise::kIdentity;
  int64_t first_row = 0;  // rows to compute, positions of the output
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
  int64_t stride = 1;
  int64_t padding = -1;         // -1: kernel / 2
  const float* bias = nullptr;  // [channels]; null: zero

  int64_t pad() const { return padding < 0 ? kernel / 2 : padding; }
  int64_t out_height() const { return (grid.height + 2 * pad() - kernel) / stride + 1; }
  int64_t out_width() const { return (grid.width + 2 * pad() - kernel) / stride + 1; }
};

// From the published [channels, 1, kernel, kernel].
void depthwise_taps(const float* weight, int64_t channels, int64_t kernel, float* taps);
void depthwise_conv(const DepthwiseConvArgs& args);

// The patches a dense convolution sees, one per row: [kernel, kernel, channels], zero where
// outside.
struct PatchArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t first_row = 0;
  int64_t last_row = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};

void gather_patches(const PatchArgs& args);

// [out, in, kernel, kernel] to [out, kernel, kernel, in], the order of gathered patches.
void patch_weight(const float* weight, int64_t out, int64_t in, int64_t kernel, float* to);

}  // namespace vig
