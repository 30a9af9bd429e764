// Weights in the kernels' layouts. See session.h for what it is to its users.
#pragma once

#include <memory>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/kernels/gemm.h"
#include "vig/runtime/session.h"

namespace vig {

class PackedWeights final : public PackedModel {
 public:
  PackedWeights(const Graph& graph, std::shared_ptr<const Weights> weights);

  size_t bytes() const override { return buffer_.bytes(); }
  const PackedMatrix& matrix(int param) const { return matrices_[param]; }
  const float* taps(int param) const { return taps_[param]; }
  // As published.
  const float* raw(int param) const { return weights_->data(static_cast<size_t>(param)); }

 private:
  std::shared_ptr<const Weights> weights_;
  std::vector<PackedMatrix> matrices_;  // by parameter; empty for other parameters
  std::vector<const float*> taps_;      // by parameter: of depthwise convolutions
  Buffer buffer_;
};

}  // namespace vig
