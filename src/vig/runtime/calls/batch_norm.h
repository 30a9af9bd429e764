// A batch norm as a scale and a shift a channel, to be folded into weights or applied to values.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "vig/runtime/calls/lowering.h"

namespace vig {

// The parameters of a batch norm, by index.
struct BatchNormParams {
  int weight = -1, bias = -1, mean = -1, variance = -1;  // -1: there is none
  float eps = 0.0f;

  bool exists() const { return weight >= 0; }
};

// norm(x) = scale * x + shift.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

// The batch norm that is fused with the operation being lowered, if one is.
BatchNormParams fused_norm(const Lowering& to);

// `data(param)` points to a parameter's numbers.
template <class Data>
ChannelAffine affine_of(const BatchNormParams& norm, int64_t channels, const Data& data) {
  ChannelAffine affine;
  for (int64_t c = 0; c < channels; ++c) {
    const double deviation = std::sqrt(static_cast<double>(data(norm.variance)[c]) + norm.eps);
    const double scale = data(norm.weight)[c] / deviation;
    affine.scale.push_back(scale);
    affine.shift.push_back(data(norm.bias)[c] - data(norm.mean)[c] * scale);
  }
  return affine;
}

// Weights [channels, count] and their bias with a batch norm folded into them, or as they are where
// there is none.
struct FoldedWeights {
  std::vector<float> weight, bias;
};
// `bias` is a parameter or -1, which gives zeros.
FoldedWeights fold_norm(const BatchNormParams& norm, const Weights& weights, int weight, int bias,
                        const Shape& shape);

// The same for weights that are kept as codes, one of `scales` a channel: the norm is multiplied
// into them. Returns the bias.
std::vector<float> fold_into_scales(const BatchNormParams& norm, const Weights& weights, int bias,
                                    std::span<float> scales);

// The name of a layout of weights that are packed with their bias, a parameter or -1, and that a
// batch norm may be folded into.
std::string packed_layout(std::string_view layout, int bias, const BatchNormParams& norm);

}  // namespace vig
