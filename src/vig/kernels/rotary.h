// Rotary position: pairs of neighbouring channels turned by the angles of a table.
//
// With row r of x and of the tables cos and sin, both [rows, channels], and an even channel count:
//   y[2 j] = x[2 j] cos[2 j] - x[2 j + 1] sin[2 j]
//   y[2 j + 1] = x[2 j + 1] cos[2 j + 1] + x[2 j] sin[2 j + 1]
// Rows never meet.
#pragma once

#include <cstdint>

namespace vig {

struct RotaryArgs {
  const float* in = nullptr;
  int64_t in_stride = 0;
  const float* cos = nullptr;  // [rows, channels]
  const float* sin = nullptr;  // the same, with the signs of rotary_signs
  int64_t rows = 0;
  int64_t channels = 0;
  float* out = nullptr;  // may be `in`
  int64_t out_stride = 0;
};

// Changes the sign of every even channel of `count` floats, so that the kernel only adds.
void rotary_signs(const float* sin, int64_t count, float* out);

void rotary(const RotaryArgs& args);

}  // namespace vig
