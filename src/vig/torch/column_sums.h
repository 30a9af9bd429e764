// The gradient of a bias that was added to every row.
#pragma once

#include <ATen/ATen.h>

#include "vig/kernels/backward/pointwise.h"

namespace vig::train {

// [channels] of dy [rows, channels].
inline at::Tensor column_sums(const at::Tensor& dy) {
  at::Tensor sums = at::zeros({dy.size(1)}, dy.options());
  add_column_sums(dy.data_ptr<float>(), dy.size(1), dy.size(0), dy.size(1), sums.data_ptr<float>());
  return sums;
}

}  // namespace vig::train
