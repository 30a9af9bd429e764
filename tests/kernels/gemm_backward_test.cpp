#include "vig/kernels/backward/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/reference/gemm_backward.h"

namespace vig {
namespace {

using test::Sheet;

// Operands of one product; both and the result have gaps and start at odd floats.
struct Product {
  Product(int64_t rows, int64_t n, int64_t k) : dy(rows, n, 3, 1), x(rows, k, 5, 3) {
    const uint32_t seed = static_cast<uint32_t>(rows * 10007 + n * 101 + k);
    dy.noise(seed);
    x.noise(seed + 1);
  }

  GemmBackwardArgs args(Sheet& dw, bool add) const {
    return {dy.data(),  dy.stride, x.data(),  x.stride,  dy.rows(),
            dy.width(), x.width(), dw.data(), dw.stride, add};
  }
  Sheet result(uint32_t seed) const {
    Sheet dw(dy.width(), x.width(), 7, 5);
    dw.noise(seed);
    return dw;
  }

  Sheet dy, x;
};

// Sums of `rows` products below one: each addition rounds what has been summed, which is of the
// order of sqrt(rows), and roundings do not all have one sign.
double tolerance(int64_t rows) { return 1e-6 + 3e-7 * static_cast<double>(rows) / 4; }

void expect_reference(int64_t rows, int64_t n, int64_t k, bool add) {
  const Product product(rows, n, k);
  Sheet fast = product.result(3), slow = product.result(3);
  gemm_backward(product.args(fast, add));
  reference::gemm_backward(product.args(slow, add));
  ASSERT_LE(test::distance(fast, slow), tolerance(rows)) << rows << " rows, " << n << " x " << k;
  ASSERT_TRUE(fast.gaps_untouched()) << rows << " rows, " << n << " x " << k;
}

class GemmBackwardOnTarget : public test::OnTarget {};

TEST_P(GemmBackwardOnTarget, EqualsReferenceForAllWidths) {
  for (int64_t n = 1; n <= 31; ++n) {
    for (const int64_t k : {1, 7, 16, 31, 32, 33, 64, 70}) expect_reference(9, n, k, n % 2 == 0);
  }
  for (int64_t k = 1; k <= 70; ++k) expect_reference(5, 17, k, k % 2 == 0);
}

TEST_P(GemmBackwardOnTarget, EqualsReferenceForAllRowCounts) {
  // Around the blocks of rows, of 256.
  for (const int64_t rows : {0, 1, 2, 3, 255, 256, 257, 511, 513, 1000}) {
    expect_reference(rows, 29, 45, false);
    expect_reference(rows, 14, 32, true);
  }
}

TEST_P(GemmBackwardOnTarget, PartsGiveTheSameBits) {
  const Product product(700, 45, 77);
  Sheet whole = product.result(1), parts = product.result(2);
  gemm_backward(product.args(whole, false));
  for (int64_t n = 0; n < 45; n += 11) {
    for (int64_t k = 0; k < 77; k += 20) {
      // Rows in two calls, the second adding to the first.
      for (const int64_t row : {0, 300}) {
        GemmBackwardArgs args = product.args(parts, row > 0);
        args.dy += n + row * args.ldy;
        args.x += k + row * args.ldx;
        args.rows = row > 0 ? 400 : 300;
        args.n = std::min<int64_t>(11, 45 - n);
        args.k = std::min<int64_t>(20, 77 - k);
        args.dw += n * args.ldw + k;
        gemm_backward(args);
      }
    }
  }
  EXPECT_TRUE(test::same_bits(whole, parts));
}

// The other gradient: dx = dy W by a product with weights packed transposed.
TEST_P(GemmBackwardOnTarget, TransposedPackingIsThatOfTheTransposedMatrix) {
  for (const int64_t n : {1, 15, 16, 17, 32, 33, 70}) {
    for (const int64_t k : {1, 5, 16, 19}) {
      Sheet weight(k, n);  // [k, n]
      weight.noise(static_cast<uint32_t>(n * 100 + k));
      Sheet turned(n, k);
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < n; ++j) turned.at(j, i) = weight.at(i, j);
      }
      const size_t floats = gemm_packed_floats(n, k, false);
      Buffer one(floats * sizeof(float)), other(floats * sizeof(float));
      gemm_pack_transposed(weight.data(), n, k, one.floats());
      gemm_pack(turned.data(), nullptr, n, k, false, other.floats());
      EXPECT_TRUE(std::equal(one.floats(), one.floats() + floats, other.floats()))
          << n << " x " << k;
    }
  }
}

VIG_ON_EVERY_TARGET(GemmBackwardOnTarget);

}  // namespace
}  // namespace vig
