// Gradients of the sampling of deformable attention (kernels/deformable.h), given that of o.
//
// With c_k the bilinear coefficients of a sample, v_k its four pixels and s = sum of c_k v_k:
//   dv_k += a c_k do,   da = do . s,   dlogit = a (da - sum over all l, p of a da),
//   dx = a (do . sum of (dc_k / dx) v_k), dy likewise.
// On the middle of a pixel, where the slope jumps, it is the one towards larger x or y.
#pragma once

#include "vig/kernels/deformable.h"

namespace vig {

struct DeformableBackwardArgs {
  DeformableArgs forward;  // `out` is not used
  const float* grad_out = nullptr;
  int64_t grad_out_stride = 0;
  float* dvalues = nullptr;  // added to, in the order of the queries: zero it before the first call
  int64_t dvalues_stride = 0;
  float* doffsets = nullptr;  // overwritten
  int64_t doffsets_stride = 0;
  float* dlogits = nullptr;  // overwritten
  int64_t dlogits_stride = 0;
  // Heads to compute. Heads write to no common position, so that they can be divided among threads;
  // queries cannot.
  int64_t first_head = 0;
  int64_t last_head = -1;  // -1: to the end
};

void deformable_backward(const DeformableBackwardArgs& args);

}  // namespace vig
