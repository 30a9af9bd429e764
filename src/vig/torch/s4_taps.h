// The taps of an S4 layer (kernels/s4_taps.h) in LibTorch's operations, differentiable.
#pragma once

#include <ATen/ATen.h>

#include "vig/graph/ops.h"

namespace vig::train {

struct S4Parameters {
  at::Tensor inv_dt, a_real, a_imag, b, p, c;
  int64_t l_kernel = 0;
};

// [rows of c, length, channels] in float, computed in double. Only the parameters are kept for the
// gradient, which computes the rest again: the sums over states are hundreds of megabytes a layer.
at::Tensor s4_taps(const S4Parameters& params, int64_t length);

// Taps [2 copies, length, d] in the order of kernels/long_conv.h, [copies, 2 length, d], with D
// [copies, d] (or none) added to the tap of the token itself. Of a single channel of op: copies as
// channels, [1, 2 length, copies].
at::Tensor s4_rows(at::Tensor taps, const at::Tensor& d, const S4ConvOp& op);

}  // namespace vig::train
