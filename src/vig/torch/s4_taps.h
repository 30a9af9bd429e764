// The taps of an S4 layer (kernels/s4_taps.h) in LibTorch's operations, differentiable.
#pragma once

#include <ATen/ATen.h>

namespace vig::train {

struct S4Parameters {
  at::Tensor inv_dt, a_real, a_imag, b, p, c;
  int64_t l_kernel = 0;
};

// [rows of c, length, channels] in float, computed in double. Only the parameters are kept for the
// gradient, which computes the rest again: the sums over states are hundreds of megabytes a layer.
at::Tensor s4_taps(const S4Parameters& params, int64_t length);

}  // namespace vig::train
