// Pooling over windows of a map, and its gradients. Grids are [batch, height, width, channels]; a
// row is one position, numbered over the whole batch, so that work can be split anywhere.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

enum class PoolKind {
  kMax,         // padding never wins; a NaN does
  kMean,        // over the window, padding counting as zeros
  kMeanInside,  // over the part of the window inside the map
};

struct PoolWindow {
  PoolKind kind = PoolKind::kMax;
  ConvGrid in;
  int64_t kernel = 3;
  int64_t stride = 2;
  int64_t padding = 1;  // at most kernel / 2, so that every window holds a position

  int64_t out_height() const { return (in.height + 2 * padding - kernel) / stride + 1; }
  int64_t out_width() const { return (in.width + 2 * padding - kernel) / stride + 1; }
};

struct PoolArgs {
  PoolWindow window;
  const float* in = nullptr;  // the whole batch
  int64_t first_row = 0;      // rows of the output to compute
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
};

void pool_windows(const PoolArgs& args);

// dx at positions of the input: what the windows that contain a position hand to it, in order of
// the windows. Of a maximum the first position that reaches it gets all.
struct PoolBackwardArgs {
  PoolWindow window;
  const float* in = nullptr;  // the whole batch; for kMax alone
  const float* dy = nullptr;  // the whole batch, rows without gaps
  int64_t first_row = 0;      // rows of the input to compute
  int64_t last_row = 0;
  float* dx = nullptr;  // the first of them, overwritten
  int64_t dx_stride = 0;
};

void pool_windows_backward(const PoolBackwardArgs& args);

}  // namespace vig
