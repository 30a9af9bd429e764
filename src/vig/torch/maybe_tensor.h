// What the autograd functions share. Arguments that may be absent: LibTorch refuses undefined
// tensors there.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace vig::train {

using MaybeTensor = c10::optional<at::Tensor>;

inline MaybeTensor maybe(const at::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : MaybeTensor();
}

inline const float* data_or_null(const MaybeTensor& tensor) {
  return tensor.has_value() ? tensor->data_ptr<float>() : nullptr;
}

// The sizes of x, with another number of channels.
inline std::vector<int64_t> with_channels(const at::Tensor& x, int64_t channels) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = channels;
  return sizes;
}

}  // namespace vig::train
