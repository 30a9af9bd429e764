// Matrix products of integers on quantised rows (quantize.h): the products of gemm.h,
//   C = f(A W^T + bias + residual), or f(first half) * second half of paired weights,
// where A W^T is an exact sum of integers times the scales of row and column:
//   y = float(sum) * (row scale * column scale) + bias
//
// The sums are the same on every instruction set; what follows them is float, as in gemm.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"
#include "vig/kernels/quantize.h"

namespace vig {

// A sum of so many products fits in 32 bits.
inline constexpr int64_t kMostInt8Taps = (int64_t{1} << 31) / (255 * kMostWeight) - kCodeGroup;

// Panels of one weight matrix, made by gemm_int8_pack; see PackedMatrix.
struct Int8Matrix {
  const std::byte* panels = nullptr;  // aligned to 64 bytes
  int64_t n = 0;
  int64_t k = 0;  // at most kMostInt8Taps
  bool paired = false;
};

size_t gemm_int8_packed_bytes(int64_t n, int64_t k, bool paired);
// Codes [n, k] and a scale for each of n columns, as quantize_weights makes them; the scales may
// have been multiplied since. `bias` may be null.
Int8Matrix gemm_int8_pack(const int8_t* codes, const float* scales, const float* bias, int64_t n,
                          int64_t k, bool paired, std::byte* panels);

struct Int8GemmArgs {
  const uint8_t* a = nullptr;  // quantised rows, lda bytes apart
  int64_t lda = 0;
  int64_t rows = 0;
  Int8Matrix weight;
  float* c = nullptr;  // [rows, n], rows ldc apart
  int64_t ldc = 0;
  Elementwise function = Elementwise::kIdentity;
  const float* residual = nullptr;  // [rows, n], rows ldr apart; may be c; null for paired weights
  int64_t ldr = 0;
  int64_t first_panel = 0;  // the columns to compute, for work split over columns
  int64_t last_panel = -1;  // -1: to the end
};

void gemm_int8(const Int8GemmArgs& args);

int64_t gemm_int8_panels(const Int8Matrix& weight);

}  // namespace vig
