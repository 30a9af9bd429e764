#include "vig/weights/elements.h"

#include <cstring>

#include "vig/base/error.h"
#include "vig/weights/half.h"

namespace vig {
namespace {

// memcpy per element compiles to a plain load and is right at any alignment.
template <typename Stored, typename Out, typename Convert>
void copy_each(const TensorView& view, Out* out, Convert convert) {
  const auto* bytes = static_cast<const unsigned char*>(view.data);
  const int64_t count = view.shape.elements();
  for (int64_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * static_cast<int64_t>(sizeof(Stored)), sizeof(Stored));
    out[i] = convert(stored);
  }
}

template <typename Stored, typename Out>
void copy_cast(const TensorView& view, Out* out) {
  copy_each<Stored>(view, out, [](Stored value) { return static_cast<Out>(value); });
}

template <typename Out>
void copy_integers(const TensorView& view, Out* out) {
  switch (view.dtype) {
    case DType::kI64:
      return copy_cast<int64_t>(view, out);
    case DType::kI32:
      return copy_cast<int32_t>(view, out);
    case DType::kI16:
      return copy_cast<int16_t>(view, out);
    case DType::kI8:
      return copy_cast<int8_t>(view, out);
    case DType::kU8:
      return copy_cast<uint8_t>(view, out);
    case DType::kBool:
      return copy_each<uint8_t>(view, out,
                                [](uint8_t value) { return static_cast<Out>(value != 0); });
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      fail("expected a tensor of integers, found {}", dtype_name(view.dtype));
  }
}

}  // namespace

bool is_float(DType type) {
  return type == DType::kF64 || type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType type : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                     DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    if (dtype_name(type) == name) return type;
  }
  return std::nullopt;
}

void copy_as_floats(const TensorView& view, float* out) {
  switch (view.dtype) {
    case DType::kF32:
      if (const size_t bytes = view.bytes()) std::memcpy(out, view.data, bytes);
      return;
    case DType::kF64:
      return copy_cast<double>(view, out);
    case DType::kF16:
      return copy_each<uint16_t>(view, out, f16_to_f32);
    case DType::kBF16:
      return copy_each<uint16_t>(view, out, bf16_to_f32);
    default:
      return copy_integers(view, out);
  }
}

std::vector<float> to_floats(const TensorView& view) {
  std::vector<float> out(static_cast<size_t>(view.shape.elements()));
  copy_as_floats(view, out.data());
  return out;
}

std::vector<int64_t> to_int64s(const TensorView& view) {
  std::vector<int64_t> out(static_cast<size_t>(view.shape.elements()));
  copy_integers(view, out.data());
  return out;
}

}  // namespace vig
