// Gradients of bidirectional WKV (kernels/wkv.h), given that of y.
//
// With D_t the lower sum of token t and g_t = dy_t / D_t:
//   dv_i = e^{k_i} sum over t of W(t, i) g_t
//   dk_i = e^{k_i} sum over t of W(t, i) g_t (v_i - y_t)
//   du = sum over t of g_t e^{u + k_t} (v_t - y_t),   dw = sum over t of dy_t dy_t/dw,
// where dy/dw follows from the derivatives of both sums, which are summed beside them. The first
// two are the weighted sums of the forward pass with W transposed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/wkv.h"

namespace vig {

struct WkvBackwardArgs {
  WkvArgs wkv;  // the forward call without a gate; y and scratch are not used
  const float* dy = nullptr;
  int64_t dy_stride = 0;
  float* dk = nullptr;  // overwritten
  int64_t dk_stride = 0;
  float* dv = nullptr;  // overwritten
  int64_t dv_stride = 0;
  float* ddecay = nullptr;   // [C], added to: zero it before the first call
  float* dfirst = nullptr;   // [C], likewise
  float* scratch = nullptr;  // of wkv_backward_floats, aligned to 64 bytes
};

size_t wkv_backward_floats(int64_t tokens);

// Any range of channels gives the same bits.
void wkv_backward(const WkvBackwardArgs& args);

}  // namespace vig
