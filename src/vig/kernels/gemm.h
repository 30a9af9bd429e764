// Matrix products on rows of channels: C = f(A W^T + bias + residual), W [n, k] as published; of
// paired weights, whose halves of the columns belong together, C = f(first half) * second half.
//
// The weights are packed once into panels as wide as two vectors of this machine, so the product
// streams them in order; see docs/gemm.md for the blocking. Every output element is one chain of
// fused multiply-adds over k in increasing order, begun with the bias: its bits depend neither on
// how rows are grouped nor on which rows come with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"

namespace vig {

// What panels hold weights as. Those of 16 bits are widened panel by panel, in the cache, which
// changes no bit of a result.
enum class PanelType { kF32, kF16, kBF16 };

// Panels of one weight matrix, made by gemm_pack. `paired` matrices hold column j of the first half
// beside column j of the second in one panel; the product has n / 2 columns.
struct PackedMatrix {
  const float* panels = nullptr;  // aligned to a vector; of 16 bits behind each panel's bias
  int64_t n = 0;
  int64_t k = 0;
  bool paired = false;
  PanelType type = PanelType::kF32;
};

size_t gemm_packed_floats(int64_t n, int64_t k, bool paired);
// `bias` may be null. `panels` holds gemm_packed_floats and is aligned to 64 bytes.
PackedMatrix gemm_pack(const float* weight, const float* bias, int64_t n, int64_t k, bool paired,
                       float* panels);
// The same for weights of 16 bits, kF16 or kBF16, of at most kMostHalfTaps: `panels` holds
// gemm_packed_half_bytes.
inline constexpr int64_t kMostHalfTaps = 4096;
size_t gemm_packed_half_bytes(int64_t n, int64_t k, bool paired);
PackedMatrix gemm_pack_half(const uint16_t* weight, const float* bias, int64_t n, int64_t k,
                            bool paired, PanelType type, float* panels);
// The same for weights stored transposed, [k, n], without bias: C = A W.
PackedMatrix gemm_pack_transposed(const float* weight, int64_t n, int64_t k, float* panels);

struct GemmArgs {
  const float* a = nullptr;  // [rows, k], rows lda apart
  int64_t lda = 0;
  int64_t rows = 0;
  PackedMatrix weight;
  float* c = nullptr;  // [rows, n], rows ldc apart; may not overlap a
  int64_t ldc = 0;
  Elementwise function = Elementwise::kIdentity;
  const float* residual = nullptr;  // [rows, n], rows ldr apart; may be c; null for paired weights
  int64_t ldr = 0;
  int64_t first_panel = 0;  // the columns to compute, for work split over columns
  int64_t last_panel = -1;  // -1: to the end
};

void gemm(const GemmArgs& args);

int64_t gemm_panels(const PackedMatrix& weight);
int64_t gemm_strip_rows();  // rows of one pass over a panel; multiples of it waste nothing

}  // namespace vig
