// Golden tensors of dense prediction.
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/tree.h"
#include "vig/image/box.h"
#include "vig/weights/elements.h"
#include "vig/weights/safetensors.h"

namespace vig::test {

class DenseGolden {
 public:
  explicit DenseGolden(const std::string& name)
      : file_(SafeTensors::open(
            (std::filesystem::path(kFixtures) / "golden/dense" / (name + ".safetensors"))
                .string())) {}

  std::vector<float> floats(const std::string& name) const { return to_floats(view(name)); }
  std::vector<int64_t> integers(const std::string& name) const { return to_int64s(view(name)); }
  const Shape& shape(const std::string& name) const { return view(name).shape; }
  std::vector<Box> boxes(const std::string& name) const { return boxes_of(floats(name)); }
  // [1, channels, height, width] as [height, width, channels].
  std::vector<float> map(const std::string& name) const {
    const std::vector<float> values = floats(name);
    const Shape& size = shape(name);
    const auto channels = static_cast<size_t>(size[1]);
    const auto cells = static_cast<size_t>(size[2] * size[3]);
    std::vector<float> result(values.size());
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < cells; ++i) result[i * channels + c] = values[c * cells + i];
    }
    return result;
  }

  static std::vector<Box> boxes_of(std::span<const float> values, size_t stride = 4,
                                   size_t first = 0) {
    std::vector<Box> boxes;
    for (size_t i = first; i + 4 <= values.size(); i += stride) {
      boxes.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
    }
    return boxes;
  }

 private:
  const TensorView& view(const std::string& name) const {
    const NamedTensor* tensor = file_.find(name);
    if (tensor == nullptr) throw std::runtime_error("the case has no tensor " + name);
    return tensor->view;
  }

  SafeTensors file_;
};

}  // namespace vig::test
