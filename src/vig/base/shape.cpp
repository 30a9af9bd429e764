#include "vig/base/shape.h"

#include <fmt/ranges.h>

#include "vig/base/error.h"

namespace vig {

size_t dtype_size(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

std::string_view dtype_name(DType type) {
  switch (type) {
    case DType::kF64:
      return "F64";
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kI64:
      return "I64";
    case DType::kI32:
      return "I32";
    case DType::kI16:
      return "I16";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  return "";
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t size : sizes_) {
    if (__builtin_mul_overflow(product, size, &product)) {
      fail("shape {} has more elements than fit in 63 bits", str());
    }
  }
  return product;
}

std::string Shape::str() const { return fmt::format("[{}]", fmt::join(sizes_, ", ")); }

}  // namespace vig
