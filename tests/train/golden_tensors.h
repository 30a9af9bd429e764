// Tensors of golden cases for LibTorch.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "vig/pipeline/golden_case.h"
#include "vig/train/parameters.h"
#include "vig/weights/elements.h"

namespace vig::train {

inline at::Tensor to_tensor(const TensorView& view) {
  const std::vector<float> values = to_floats(view);
  at::Tensor tensor = at::empty(view.shape.sizes(), at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

// The largest difference as a share of the largest value; NaN counts as infinite.
inline double distance(const at::Tensor& value, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  const double difference =
      (value.detach().reshape(expected.sizes()) - expected).abs().max().item<double>();
  if (!(difference <= 1e30)) return 1e30;
  return difference / std::max(largest, 1e-30);
}

// The input of a case, [batch, height, width, 3], and the graph for pictures of its size.
inline at::Tensor case_input(const GoldenCase& golden) {
  return to_tensor(golden.tensor("input")).permute({0, 2, 3, 1}).contiguous();
}
inline Graph case_graph(const ModelSpec& spec, const at::Tensor& input) {
  return build_graph(spec, static_cast<int>(input.size(1)), static_cast<int>(input.size(2)));
}

inline Parameters case_parameters(const GoldenCase& golden, const Graph& graph) {
  Parameters parameters(graph.params, *random_weights(graph.params, 1), at::kCPU);
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].copy_(to_tensor(golden.tensor("param/" + parameters.spec(i).name)));
  }
  return parameters;
}

}  // namespace vig::train
