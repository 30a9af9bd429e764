// Golden cases of single operators: tensors of a file, and how far a result is from them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tree.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig::test {

class OperatorCase {
 public:
  explicit OperatorCase(const std::string& name, const std::string& folder = "operators")
      : file_(SafeTensors::open(std::string(kFixtures) + "/golden/" + folder + "/" + name +
                                ".safetensors")) {}

  const TensorView& view(const std::string& name) const {
    const NamedTensor* tensor = file_.find(name);
    if (tensor == nullptr) throw std::runtime_error("the case has no tensor " + name);
    return tensor->view;
  }
  std::vector<float> read(const std::string& name) const { return to_floats(view(name)); }

 private:
  SafeTensors file_;
};

// The largest difference relative to the largest value.
inline double relative_distance(const std::vector<float>& found, const std::vector<float>& want) {
  double distance = 0.0, largest = 0.0;
  for (size_t i = 0; i < want.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(found[i]) - want[i]);
    distance = std::isnan(difference) ? INFINITY : std::max(distance, difference);
    largest = std::max(largest, std::fabs(static_cast<double>(want[i])));
  }
  EXPECT_GT(largest, 0.0);
  return distance / largest;
}

}  // namespace vig::test
