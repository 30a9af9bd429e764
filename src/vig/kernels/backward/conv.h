// Gradients of the convolutions in conv.h, with its grids and rows.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

// The gradient of a depthwise convolution's input: every position sums what the windows that
// contain it hold of it, in a fixed order. Rows are positions of the input, so that no two calls
// write to the same memory.
struct DepthwiseInputArgs {
  const float* dy = nullptr;  // of the whole batch, dense; before the function, if there was one
  ConvGrid grid;              // of the input
  Windows windows;
  const float* taps = nullptr;  // as in DepthwiseConvArgs
  int64_t first_row = 0;        // positions of the input to compute
  int64_t last_row = 0;
  float* dx = nullptr;  // the first of them, overwritten; zero where no window reaches
  int64_t dx_stride = 0;
};

void depthwise_input_backward(const DepthwiseInputArgs& args);

// With stride 1 it is depthwise_conv on dy with these taps, those of depthwise_taps in reverse
// order, and windows of flipped_windows. From the published [channels, 1, kernel, kernel].
void depthwise_taps_flipped(const float* weight, int64_t channels, int64_t kernel, float* taps);
Windows flipped_windows(const Windows& windows, const ConvGrid& grid);

// dtaps[ky, kx, c] += sum over rows (y, x) of the window's in[ky, kx, c] * dy[y, x, c].
struct DepthwiseWeightArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t first_row = 0;  // rows to sum over
  int64_t last_row = 0;
  const float* dy = nullptr;  // the first of them; before the function, if there was one
  int64_t dy_stride = 0;
  float* dtaps = nullptr;  // [kernel * kernel, channels], added to: zero it before the first call
};

void depthwise_weight_backward(const DepthwiseWeightArgs& args);

// The adjoint of gathering patches [kernel, kernel, channels]: every position of the input grid
// sums what the patches that contain it hold of it, in a fixed order. Rows are positions of the
// input, so that no two calls write to the same memory.
struct ScatterArgs {
  const float* patches = nullptr;  // of the whole batch, a row per output position
  int64_t patch_stride = 0;
  ConvGrid grid;  // of the input
  Windows windows;
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
