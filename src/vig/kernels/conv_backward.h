// Gradients of the convolutions in conv.h, with its grids and rows.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

// The gradient of a depthwise convolution's input is depthwise_conv on dy, without SiLU, with these
// taps: those of depthwise_taps in reverse order. From the published [channels, 1, kernel, kernel].
void depthwise_taps_flipped(const float* weight, int64_t channels, int64_t kernel, float* taps);

// With another stride or padding it is this: rows are positions of the input, so that no two calls
// write to the same place.
struct DepthwiseInputArgs {
  const float* dy = nullptr;  // the whole batch, rows without gaps
  ConvGrid grid;              // of the input
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;
  const float* taps = nullptr;  // made by depthwise_taps
  int64_t first_row = 0;
  int64_t last_row = 0;
  float* dx = nullptr;  // the first of them, overwritten
  int64_t dx_stride = 0;

  int64_t out(int64_t size) const { return (size + 2 * padding - kernel) / stride + 1; }
};

void depthwise_input_backward(const DepthwiseInputArgs& args);

// dtaps[ky, kx, c] += sum over rows (y, x) of dy[y, x, c] * in[y s + ky - p, x s + kx - p, c].
struct DepthwiseWeightArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  int64_t kernel = 3;
  int64_t first_row = 0;  // rows to sum over, positions of the output
  int64_t last_row = 0;
  const float* dy = nullptr;  // the first of them; before the SiLU, if there was one
  int64_t dy_stride = 0;
  float* dtaps = nullptr;  // [kernel * kernel, channels], added to: zero it before the first call
  int64_t stride = 1;
  int64_t padding = -1;  // -1: kernel / 2

  int64_t pad() const { return padding < 0 ? kernel / 2 : padding; }
  int64_t out(int64_t size) const { return (size + 2 * pad() - kernel) / stride + 1; }
};

void depthwise_weight_backward(const DepthwiseWeightArgs& args);

// The adjoint of gather_patches: every position of the input grid sums what the patches that
// contain it hold of it, in a fixed order. Rows are positions of the input, so that no two calls
// write to the same place.
struct ScatterArgs {
  const float* patches = nullptr;  // of the whole batch, a row per output position
  int64_t patch_stride = 0;
  ConvGrid grid;  // of the input
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t first_row = 0;  // positions of the input to compute
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them, overwritten; zero where no patch reaches
  int64_t out_stride = 0;
};

void scatter_patches(const ScatterArgs& args);

// The inverse of patch_weight: [out, kernel, kernel, in] to [out, in, kernel, kernel]. With out = 1
// and in = channels it is the inverse of depthwise_taps.
void patch_weight_inverse(const float* from, int64_t out, int64_t in, int64_t kernel, float* to);

}  // namespace vig
