// Gradients of the norms in norm.h. Nothing is kept from the forward pass but its input: a row's
// statistics are taken again while the row is in the first cache.
#pragma once

#include <cstdint>

namespace vig {

struct NormBackwardArgs {
  const float* in = nullptr;  // what the forward call got
  int64_t in_stride = 0;
  const float* dy = nullptr;
  int64_t dy_stride = 0;
  const float* residual = nullptr;  // added to dx; null: nothing
  int64_t residual_stride = 0;
  float* dx = nullptr;  // overwritten; may be in, dy or residual
  int64_t dx_stride = 0;
  int64_t rows = 0;
  int64_t channels = 0;
  float eps = 0.0f;
  const float* weight = nullptr;
  float* dweight = nullptr;  // [channels / groups], added to: zero it before the first call
  float* dbias = nullptr;    // layer_norm only: [channels], added to
  int64_t groups = 1;        // rms_norm only
};

// With xh = (x - mean) / sqrt(var + eps) and g = dy * weight:
//   dx = (g - mean(g) - xh * mean(g * xh)) / sqrt(var + eps),
//   dweight = sum over rows of dy * xh,  dbias = sum over rows of dy.
void layer_norm_backward(const NormBackwardArgs& args);
// With xh = x / sqrt(mean(x^2) + eps) over each group: the same without mean(g) and dbias; dweight
// sums over groups too.
void rms_norm_backward(const NormBackwardArgs& args);

}  // namespace vig
