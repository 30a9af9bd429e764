// Means over rows, and the largest values of windows.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

// mean[c] = sum of rows[r * stride + c] / count, summed in blocks so that long sequences stay
// exact.
void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean);

// The largest value of each window, per channel; what is outside the grid does not count. Not a
// number counts as the largest.
struct MaxPoolArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t first_row = 0;  // rows to compute, of the grid of windows
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
};

void max_pool(const MaxPoolArgs& args);

}  // namespace vig
