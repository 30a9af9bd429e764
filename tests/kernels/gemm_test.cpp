#include "vig/kernels/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/gemm.h"

namespace vig {
namespace {

using test::Sheet;

// Inputs lie in [-1, 1) and weights in [-1, 1) / sqrt k, so sums are of order 1 and so are the
// slopes of all epilogues. Up to 150 roundings of 6e-8 each, which do not all have one sign.
constexpr double kTolerance = 3e-6;

struct Epilogue {
  Elementwise function = Elementwise::kIdentity;
  bool residual = false;
  bool paired = false;
};

struct Case {
  int64_t rows;
  int64_t n;
  int64_t k;
  Epilogue epilogue = {};
  bool bias = true;

  bool paired() const { return epilogue.paired; }
  int64_t columns() const { return paired() ? n / 2 : n; }
  std::string name() const {
    return std::to_string(rows) + " rows, n " + std::to_string(n) + ", k " + std::to_string(k) +
           ", " + elementwise_name(epilogue.function) + (epilogue.residual ? " + residual" : "") +
           (epilogue.paired ? ", paired" : "") + (bias ? "" : ", no bias");
  }
};

// Of a finite half.
float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::vector<Epilogue> all_epilogues() {
  std::vector<Epilogue> all;
  for (const Elementwise function : kElementwise) {
    all.push_back({function});
    all.push_back({function, true});
    all.push_back({function, false, true});
  }
  return all;
}
const std::vector<Epilogue> kEpilogues = all_epilogues();

// Operands of one case. Input, residual and output have gaps and start at odd floats.
struct Product {
  explicit Product(const Case& c)
      : shape(c),
        a(c.rows, c.k, 3, 1),
        weight(c.n, c.k),
        bias(1, c.n),
        residual(c.rows, c.columns(), 5, 3),
        panels(gemm_packed_floats(c.n, c.k, c.paired()) * sizeof(float)) {
    const float reach = 1.0f / std::sqrt(static_cast<float>(c.k));
    const uint32_t seed = static_cast<uint32_t>(c.rows * 10007 + c.n * 101 + c.k);
    a.noise(seed);
    weight.noise(seed + 1, -reach, reach);
    bias.noise(seed + 2);
    residual.noise(seed + 3);
    packed = gemm_pack(weight.data(), c.bias ? bias.data() : nullptr, c.n, c.k, c.paired(),
                       panels.floats());
  }

  Sheet output() const { return Sheet(shape.rows, shape.columns(), 7, 5); }

  // `count` rows from `first`, all panels or some.
  GemmArgs args(Sheet& out, int64_t first, int64_t count) {
    GemmArgs result;
    result.a = a.data() + first * a.stride;
    result.lda = a.stride;
    result.rows = count;
    result.weight = packed;
    result.c = out.data() + first * out.stride;
    result.ldc = out.stride;
    result.function = shape.epilogue.function;
    if (shape.epilogue.residual) {
      result.residual = residual.data() + first * residual.stride;
      result.ldr = residual.stride;
    }
    return result;
  }
  Sheet whole() {
    Sheet out = output();
    gemm(args(out, 0, shape.rows));
    return out;
  }

  Case shape;
  Sheet a, weight, bias, residual;
  Buffer panels;
  PackedMatrix packed;
};

void expect_reference(const Case& c) {
  Product product(c);
  const Sheet fast = product.whole();
  Sheet slow = product.output();
  reference::gemm(product.weight.data(), c.bias ? product.bias.data() : nullptr,
                  product.args(slow, 0, c.rows));
  // A square has twice the relative error of its operand.
  const double times = c.epilogue.function == Elementwise::kRelu2 ? 2 : 1;
  ASSERT_LE(test::distance(fast, slow), times * kTolerance) << c.name();
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
}

class GemmOnTarget : public test::OnTarget {};

TEST_P(GemmOnTarget, EqualsReferenceForAllRowCounts) {
  int turn = 0;
  for (int64_t rows = 1; rows <= 2 * gemm_strip_rows() + 3; ++rows) {
    for (const int64_t n : {2, 14, 16, 18, 32, 34, 48, 66}) {
      for (const int64_t k : {1, 7, 8, 19, 64}) {
        expect_reference({rows, n, k, kEpilogues[turn++ % std::size(kEpilogues)]});
      }
    }
  }
}

TEST_P(GemmOnTarget, EqualsReferenceForAllWidths) {
  for (const Epilogue& epilogue : kEpilogues) {
    for (int64_t n = 1; n <= 100; n += n < 36 ? 1 : 7) {
      if (epilogue.paired && n % 2 == 1) continue;
      expect_reference({3, n, n % 2 == 0 ? 13 : 16, epilogue});
      expect_reference({gemm_strip_rows() + 1, n, 9, epilogue, false});
    }
    for (int64_t k = 1; k <= 150; k += k < 40 ? 1 : 11) expect_reference({5, 34, k, epilogue});
  }
}

// A row alone, in pairs, in any grouping: the contract says the bits are the same.
TEST_P(GemmOnTarget, BitsDoNotDependOnTheGroupingOfRows) {
  for (const Epilogue& epilogue : kEpilogues) {
    const int64_t rows = 2 * gemm_strip_rows() + 3;
    Product product({rows, 70, 53, epilogue});
    const Sheet whole = product.whole();
    for (int64_t group = 1; group < rows; ++group) {
      Sheet parts = product.output();
      for (int64_t first = 0; first < rows; first += group) {
        gemm(product.args(parts, first, std::min(group, rows - first)));
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << product.shape.name() << " by " << group;
    }
  }
}

TEST_P(GemmOnTarget, BitsDoNotDependOnTheSplitOfColumns) {
  for (const Epilogue& epilogue : kEpilogues) {
    for (const int64_t n : {66, 70, 130}) {
      Product product({gemm_strip_rows() + 2, n, 21, epilogue});
      const Sheet whole = product.whole();
      const int64_t panels = gemm_panels(product.packed);
      for (int64_t cut = 0; cut <= panels; ++cut) {
        Sheet parts = product.output();
        GemmArgs args = product.args(parts, 0, product.shape.rows);
        args.last_panel = cut;
        gemm(args);
        // The first part leaves the columns of the second alone.
        if (cut < panels) {
          EXPECT_TRUE(std::isnan(parts.at(0, product.shape.columns() - 1)));
        }
        args.first_panel = cut;
        args.last_panel = -1;
        gemm(args);
        ASSERT_TRUE(test::same_bits(whole, parts)) << product.shape.name() << " cut at " << cut;
        ASSERT_TRUE(parts.gaps_untouched());
      }
    }
  }
}

TEST_P(GemmOnTarget, ResidualMayBeTheOutput) {
  for (const int64_t n : {1, 30, 64, 65}) {
    Product product({gemm_strip_rows() + 1, n, 17, {Elementwise::kIdentity, true}});
    const Sheet apart = product.whole();
    Sheet out = product.output();
    for (int64_t r = 0; r < product.shape.rows; ++r) {
      for (int64_t j = 0; j < n; ++j) out.at(r, j) = product.residual.at(r, j);
    }
    GemmArgs args = product.args(out, 0, product.shape.rows);
    args.residual = out.data();
    args.ldr = out.stride;
    gemm(args);
    EXPECT_TRUE(test::same_bits(apart, out)) << n;
  }
}

// Weights of 16 bits give the bits of the same weights as floats.
TEST_P(GemmOnTarget, HalvesAreTheSameBitsAsFloats) {
  for (const Epilogue& epilogue : kEpilogues) {
    for (const PanelType type : {PanelType::kF16, PanelType::kBF16}) {
      for (const int64_t k : {1, 9, 64}) {
        Product product({gemm_strip_rows() + 3, 70, k, epilogue});
        std::vector<uint16_t> halves;
        for (int64_t row = 0; row < 70; ++row) {
          for (int64_t i = 0; i < k; ++i) {
            // All exponents that are finite, subnormal ones and both signs.
            const auto bits = static_cast<uint32_t>(row * 977 + i * 131) % 0x10000u;
            const bool finite =
                type == PanelType::kF16 ? (bits & 0x7c00u) < 0x4800u : (bits & 0x7f80u) < 0x4200u;
            halves.push_back(static_cast<uint16_t>(finite ? bits : bits & 0x83ffu));
            product.weight.at(row, i) = type == PanelType::kF16
                                            ? half_to_float(halves.back())
                                            : std::bit_cast<float>(uint32_t{halves.back()} << 16);
          }
        }
        product.packed = gemm_pack(product.weight.data(), product.bias.data(), 70, k,
                                   epilogue.paired, product.panels.floats());
        const Sheet expected = product.whole();
        Buffer panels(gemm_packed_half_bytes(70, k, epilogue.paired));
        product.packed = gemm_pack_half(halves.data(), product.bias.data(), 70, k, epilogue.paired,
                                        type, panels.floats());
        ASSERT_TRUE(test::same_bits(product.whole(), expected)) << product.shape.name();
      }
    }
  }
}

TEST_P(GemmOnTarget, NoRowsWriteNothing) {
  Product product({4, 33, 5});
  Sheet out = product.output();
  gemm(product.args(out, 0, 0));
  EXPECT_TRUE(std::isnan(out.at(0, 0)));
}

// Results beyond what one epilogue can hold: saturation, not NaN.
TEST_P(GemmOnTarget, LargeSumsStayFinite) {
  for (const Epilogue& epilogue : kEpilogues) {
    Product product({3, 40, 16, epilogue});
    product.a.noise(1, -1e6f, 1e6f);
    const Sheet out = product.whole();
    for (int64_t j = 0; j < product.shape.columns(); ++j) {
      ASSERT_TRUE(std::isfinite(out.at(2, j))) << product.shape.name();
    }
  }
}

VIG_ON_EVERY_TARGET(GemmOnTarget);

}  // namespace
}  // namespace vig
