// Rows of floats as bytes with one scale a row, for the integer products of gemm_int8.h:
//   x[i] ~ scale (code[i] - 128), scale = max |x| / 127,
// rounded to the nearest, ties to even. Codes are the same on every instruction set.
//
// A row whose largest magnitude is below 2^-100 counts as a row of zeros: scale 0. A row with an
// infinity or a NaN has the scale NaN, so every product of it is NaN.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

inline constexpr int kCodeZero = 128;
inline constexpr int kMostCode = 127;  // magnitude of an activation
// Of a weight: 7 bits. Two products of any byte with them fit in 16 bits, which makes sums exact
// with the multiply-add of bytes that processors without VNNI have; see docs/gemm.md.
inline constexpr int kMostWeight = 63;

// A quantised row: k codes, filled up to whole groups of 4, then the scale.
inline constexpr int64_t kCodeGroup = 4;
inline int64_t code_bytes(int64_t k) { return (k + kCodeGroup - 1) / kCodeGroup * kCodeGroup; }
inline int64_t quantized_row_bytes(int64_t k) {
  return code_bytes(k) + static_cast<int64_t>(sizeof(float));
}

// Rows `stride` floats apart to rows `out_stride` bytes apart, aligned to 4 bytes.
struct QuantizeArgs {
  const float* in = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
  int64_t k = 0;
  uint8_t* out = nullptr;
  int64_t out_stride = 0;
};
void quantize_rows(const QuantizeArgs& args);

// What every window of a grid sees, [kernel, kernel, channels], as one quantised row: a convolution
// is then a product. What lies outside the grid is zero.
struct QuantizeWindowsArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t first_row = 0;  // windows to quantise, numbered over the whole batch
  int64_t last_row = 0;
  uint8_t* out = nullptr;  // the first of them
  int64_t out_stride = 0;
};
void quantize_windows(const QuantizeWindowsArgs& args);

// Weights [n, k], one scale a row: weight ~ scale * code, |code| <= kMostWeight. Rows of zeros,
// infinities and NaN as above.
void quantize_weights(const float* weight, int64_t n, int64_t k, int8_t* codes, float* scales);

}  // namespace vig
