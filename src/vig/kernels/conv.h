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

// Stride 1, zero padding kernel / 2, then a function of the sums.
struct DepthwiseConvArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  int64_t kernel = 3;
  const float* taps = nullptr;  // [kernel * kernel, channels], made by depthwise_taps
  Elementwise function = Elementwise::kIdentity;
  int64_t first_row = 0;  // rows to compute
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
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
