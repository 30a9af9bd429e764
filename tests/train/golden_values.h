// Tensors of golden cases as LibTorch's.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "golden/operator_case.h"
#include "support/golden_tensors.h"

namespace vig::train {

inline at::Tensor read(const test::OperatorCase& golden, const std::string& name) {
  const std::vector<float> values = golden.read(name);
  at::Tensor tensor = at::empty(golden.view(name).shape.sizes(), at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

}  // namespace vig::train

namespace vig::test {

inline at::Tensor tensor_of(const GoldenTensor& golden) {
  return at::tensor(golden.values, at::kDouble).view(golden.shape).to(at::kFloat);
}

}  // namespace vig::test
