// Arguments of autograd functions that may be absent: LibTorch refuses undefined tensors there.
#pragma once

#include <ATen/ATen.h>

namespace vig::train {

using MaybeTensor = c10::optional<at::Tensor>;

inline MaybeTensor maybe(const at::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : MaybeTensor();
}

inline const float* data_or_null(const MaybeTensor& tensor) {
  return tensor.has_value() ? tensor->data_ptr<float>() : nullptr;
}

}  // namespace vig::train
