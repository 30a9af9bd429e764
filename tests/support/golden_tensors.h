// The tensors of a golden file as values, for tests of folders below `weights`.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/tree.h"

namespace vig::test {

struct GoldenTensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};

class GoldenTensors {
 public:
  // NAME.safetensors of tests/fixtures/golden/dense.
  explicit GoldenTensors(const std::string& name)
      : bytes_(read_file(std::string(kFixtures) + "/golden/dense/" + name + ".safetensors")) {
    uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof(size));
    header_ = nlohmann::json::parse(bytes_.substr(sizeof(size), size));
    data_ = sizeof(size) + size;
  }

  bool contains(const std::string& name) const { return header_.contains(name); }
  GoldenTensor read(const std::string& name) const {
    const auto& entry = header_.at(name);
    const std::string type = entry.at("dtype");
    const size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    GoldenTensor tensor{entry.at("shape"), {}};
    const std::string raw = bytes_.substr(data_ + begin, end - begin);
    if (type == "F64") return fill<double>(tensor, raw);
    if (type == "F32") return fill<float>(tensor, raw);
    if (type == "I64") return fill<int64_t>(tensor, raw);
    if (type == "I32") return fill<int32_t>(tensor, raw);
    if (type == "U8") return fill<uint8_t>(tensor, raw);
    throw std::runtime_error("a golden tensor of type " + type);
  }

 private:
  template <typename T>
  static GoldenTensor fill(GoldenTensor& tensor, const std::string& raw) {
    std::vector<T> values(raw.size() / sizeof(T));
    std::memcpy(values.data(), raw.data(), raw.size());
    tensor.values.assign(values.begin(), values.end());
    return tensor;
  }

  std::string bytes_;
  nlohmann::json header_;
  size_t data_ = 0;
};

}  // namespace vig::test
