// Reference implementations of kernels/conv.h: each output checks whether each neighbour exists.
#pragma once

#include "vig/kernels/conv.h"

namespace vig::reference {

// `weight` as published, [channels, 1, kernel, kernel], in place of args.taps.
void depthwise_conv(const float* weight, const DepthwiseConvArgs& args);

// The patches a dense convolution without groups sees, one per row: [kernel, kernel, channels],
// zero where outside.
struct PatchArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t first_row = 0;
  int64_t last_row = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
};
void gather_patches(const PatchArgs& args);

}  // namespace vig::reference
