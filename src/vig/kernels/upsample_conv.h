// Transposed convolution of kernel 2 and stride 2, which doubles a map:
//   out[2 i + a, 2 j + b, o] = f(bias[o] + residual[2 i + a, 2 j + b, o] +
//                                sum over c of in[i, j, c] weight[c, o, a, b])
// Windows do not overlap, so it is four products (gemm.h) whose rows stand two apart in the result:
// every output is one chain of fused multiply-adds over c, begun with the bias.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"

namespace vig {

struct UpsampleShape {
  int64_t height = 0;  // of the map; the result has twice as many lines
  int64_t width = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
};

// Weights [in, out, 2, 2] as published to the panels of the four products. `bias` may be null,
// `panels` is aligned to 64 bytes.
size_t upsample_packed_floats(int64_t in_channels, int64_t out_channels);
void upsample_pack(const float* weight, const float* bias, int64_t in_channels,
                   int64_t out_channels, float* panels);

// Panels of output channels: what work can be split over beside rows.
int64_t upsample_blocks(int64_t in_channels, int64_t out_channels);

struct UpsampleConvArgs {
  UpsampleShape shape;
  const float* in = nullptr;  // the whole batch, rows in_stride apart
  int64_t in_stride = 0;
  const float* panels = nullptr;  // made by upsample_pack
  Elementwise function = Elementwise::kIdentity;
  int64_t first_row = 0;  // rows of the result, numbered over the whole batch
  int64_t last_row = 0;
  int64_t first_block = 0;  // panels to compute
  int64_t last_block = -1;  // -1: to the end
  float* out = nullptr;     // the first of the rows; may not overlap `in`
  int64_t out_stride = 0;
  const float* residual = nullptr;  // of the first row, rows residual_stride apart; may be out
  int64_t residual_stride = 0;
};

void upsample_conv(const UpsampleConvArgs& args);

}  // namespace vig
