// Dense and grouped convolutions: any square kernel, stride, zero padding and number of groups.
//   out[y, x, o] = f(bias[o] + residual[y, x, o] +
//                    sum over ky, kx, c of in[y s - t + ky, x s - l + kx, c] weight[o, c, ky, kx])
// with stride s and t, l lines and columns of padding, where c runs over the channels of o's group.
//
// The strips of gemm.h, which read pixels where they lie in the map: no patches are written to
// memory, but for strips at the border of maps of few channels. Every output is one chain of fused
// multiply-adds over ky, kx and c in this order, begun with the bias, what lies outside the map
// counting as zero: the bits of a product of patches for any rows and columns of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"
#include "vig/kernels/conv.h"

namespace vig {

struct ConvShape {
  ConvGrid in;  // of one image
  Windows windows;
  int64_t out_channels = 0;
  int64_t groups = 1;  // divides the channels of input and output

  int64_t positions() const { return windows.positions(); }
  int64_t group_inputs() const { return in.channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }
  int64_t area() const { return windows.kernel * windows.kernel; }
  int64_t taps() const { return area() * group_inputs(); }  // of one output
};

// Weights [out, in / groups, kernel, kernel] as published to panels, group by group; those of one
// group are gemm_pack's of patch_weight. `bias` may be null. `panels` is aligned to 64 bytes.
size_t conv_packed_floats(const ConvShape& shape);
void conv_pack(const ConvShape& shape, const float* weight, const float* bias, float* panels);

// Panels of output channels: what work can be split over beside rows.
int64_t conv_blocks(const ConvShape& shape);

struct DenseConvArgs {
  ConvShape shape;
  const float* in = nullptr;      // the whole batch, [batch, height, width, channels]
  const float* panels = nullptr;  // made by conv_pack
  Elementwise function = Elementwise::kIdentity;
  int64_t first_row = 0;  // rows to compute, numbered over the whole batch
  int64_t last_row = 0;
  int64_t first_block = 0;  // panels to compute
  int64_t last_block = -1;  // -1: to the end
  float* out = nullptr;     // all channels of the first row; may not overlap `in`
  int64_t out_stride = 0;
  const float* residual = nullptr;  // of the first row, rows residual_stride apart; may be out
  int64_t residual_stride = 0;
};

void dense_conv(const DenseConvArgs& args);

}  // namespace vig
