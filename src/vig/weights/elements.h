// Reading a tensor's elements of any type and alignment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vig/base/shape.h"

namespace vig {

bool is_float(DType type);
std::optional<DType> dtype_from_name(std::string_view name);  // the inverse of dtype_name

// Writes view.shape.elements() floats. Integers and booleans are converted too.
void copy_as_floats(const TensorView& view, float* out);
std::vector<float> to_floats(const TensorView& view);
// Throws for floating point tensors.
std::vector<int64_t> to_int64s(const TensorView& view);

}  // namespace vig
