// Sizes and element types of tensors, and the arithmetic of layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vig {

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

size_t dtype_size(DType type);
std::string_view dtype_name(DType type);  // as safetensors spells it: "F32", "BF16", ...

// Row-major sizes, outermost first. A scalar has no axes and one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  int rank() const { return static_cast<int>(sizes_.size()); }
  // A negative axis counts from the end.
  int64_t operator[](int axis) const { return sizes_[axis < 0 ? axis + sizes_.size() : axis]; }
  int64_t& operator[](int axis) { return sizes_[axis < 0 ? axis + sizes_.size() : axis]; }
  int64_t elements() const;  // throws when the product does not fit 63 bits
  const std::vector<int64_t>& sizes() const { return sizes_; }
  std::string str() const;  // "[1, 196, 192]"
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> sizes_;
};

// A tensor without ownership of its data.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  size_t bytes() const { return static_cast<size_t>(shape.elements()) * dtype_size(dtype); }
};

// Which numbers a network's dense layers are computed with: an option of loading, not of the weight
// file.
enum class Arithmetic {
  kFloat32,
  kInt8,  // exact sums of integers between float values; see docs/gemm.md
};

struct Precision {
  Arithmetic arithmetic = Arithmetic::kFloat32;
  // Layers that stay float all the same: names as in the weight file, where * stands for any
  // characters.
  std::vector<std::string> float_layers = {};

  bool operator==(const Precision&) const = default;
};

}  // namespace vig
