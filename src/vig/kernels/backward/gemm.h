// The gradient of a matrix product with respect to its weights: for y = x W^T,
//   dW [n, k] (+)= dy^T x,  dy [rows, n], x [rows, k].
//
// Both operands are read where they lie, in blocks of rows that fit the second-level cache. Every
// element is one chain of fused multiply-adds over the rows in order, so its bits depend neither on
// the blocking nor on which part of dW a call computes. The other gradient, dx = dy W, is a plain
// product with gemm_pack_transposed weights.
#pragma once

#include <cstdint>

namespace vig {

struct GemmBackwardArgs {
  const float* dy = nullptr;  // [rows, n], rows ldy apart
  int64_t ldy = 0;
  const float* x = nullptr;  // [rows, k], rows ldx apart
  int64_t ldx = 0;
  int64_t rows = 0;
  int64_t n = 0;
  int64_t k = 0;
  float* dw = nullptr;  // [n, k], rows ldw apart; may not overlap the operands
  int64_t ldw = 0;
  bool add = false;  // to what is there; else it is overwritten
};

void gemm_backward(const GemmBackwardArgs& args);

}  // namespace vig
