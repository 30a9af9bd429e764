#include "vig/kernels/gemm_int8.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/dot_strips.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/reference/gemm_int8.h"

namespace vig {
namespace {

using test::Sheet;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  int64_t rows = 1;
  int64_t n = 1;
  int64_t k = 1;
  Elementwise function = Elementwise::kIdentity;
  bool residual = false;
  bool paired = false;
  bool bias = true;

  int64_t columns() const { return paired ? n / 2 : n; }
  std::string name() const {
    return std::to_string(rows) + " rows, n " + std::to_string(n) + ", k " + std::to_string(k) +
           ", " + elementwise_name(function) + (residual ? " + residual" : "") +
           (paired ? ", paired" : "") + (bias ? "" : ", no bias");
  }
};

std::vector<Case> all_epilogues() {
  std::vector<Case> all;
  for (const Elementwise function : kElementwise) {
    all.push_back({.function = function});
    all.push_back({.function = function, .residual = true});
    all.push_back({.function = function, .paired = true});
  }
  return all;
}

// Rows of bytes, which may have gaps between them.
struct Codes {
  Codes(int64_t rows, int64_t width, int64_t gap = 0)
      : stride(quantized_row_bytes(width) + gap),
        k(width),
        bytes(static_cast<size_t>(rows * stride), 77) {}

  const uint8_t* row(int64_t r) const { return bytes.data() + r * stride; }
  float scale(int64_t r) const {
    float scale;
    std::memcpy(&scale, row(r) + code_bytes(k), sizeof scale);
    return scale;
  }
  int code(int64_t r, int64_t i) const { return row(r)[i] - kCodeZero; }

  int64_t stride, k;
  std::vector<uint8_t> bytes;
};

Codes quantized(const Sheet& a) {
  Codes codes(a.rows(), a.width(), 8);
  quantize_rows({a.data(), a.stride, a.rows(), a.width(), codes.bytes.data(), codes.stride});
  return codes;
}

// Operands of one case, before and after they are packed. Sheets have gaps and odd starts.
struct Product {
  explicit Product(const Case& c)
      : shape(c),
        a(c.rows, c.k, 3, 1),
        weight(c.n, c.k),
        bias(1, c.n),
        residual(c.rows, c.columns(), 5, 3) {
    const float reach = 1.0f / std::sqrt(static_cast<float>(c.k));
    const uint32_t seed = static_cast<uint32_t>(c.rows * 10007 + c.n * 101 + c.k);
    a.noise(seed);
    weight.noise(seed + 1, -reach, reach);
    bias.noise(seed + 2);
    residual.noise(seed + 3);
  }

  void pack() {
    std::vector<int8_t> codes(static_cast<size_t>(shape.n * shape.k));
    std::vector<float> scales(static_cast<size_t>(shape.n));
    quantize_weights(weight.data(), shape.n, shape.k, codes.data(), scales.data());
    panels = Buffer(gemm_int8_packed_bytes(shape.n, shape.k, shape.paired));
    packed = gemm_int8_pack(codes.data(), scales.data(), shape.bias ? bias.data() : nullptr,
                            shape.n, shape.k, shape.paired, static_cast<std::byte*>(panels.data()));
  }
  Sheet output() const { return Sheet(shape.rows, shape.columns(), 7, 5); }
  Int8GemmArgs args(const Codes& codes, Sheet& out, int64_t first, int64_t count) const {
    Int8GemmArgs args;
    args.a = codes.row(first);
    args.lda = codes.stride;
    args.rows = count;
    args.weight = packed;
    args.c = out.data() + first * out.stride;
    args.ldc = out.stride;
    args.function = shape.function;
    if (shape.residual) {
      args.residual = residual.data() + first * residual.stride;
      args.ldr = residual.stride;
    }
    return args;
  }
  Sheet whole() {
    pack();
    Sheet out = output();
    const Codes codes = quantized(a);
    gemm_int8(args(codes, out, 0, shape.rows));
    return out;
  }
  Sheet reference() const {
    Sheet out = output();
    Int8GemmArgs all = args(Codes(shape.rows, shape.k), out, 0, shape.rows);
    all.weight = {nullptr, shape.n, shape.k, shape.paired};
    reference::gemm_int8(a.data(), a.stride, weight.data(), shape.bias ? bias.data() : nullptr,
                         all);
    return out;
  }

  Case shape;
  Sheet a, weight, bias, residual;
  Buffer panels;
  Int8Matrix packed;
};

// Numbers of order 1: what is left are the roundings of the scales, the sum and the epilogue.
constexpr double kTolerance = 2e-6;

void expect_reference(const Case& c) {
  Product product(c);
  const Sheet fast = product.whole();
  const double times = c.function == Elementwise::kRelu2 ? 2 : 1;
  ASSERT_LE(test::distance(fast, product.reference()), times * kTolerance) << c.name();
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
}

// With the instructions for dot products that the processor has, and without.
class GemmInt8OnTarget : public test::OnTarget {
 protected:
  void TearDown() override {
    allow_dot_strips(true);
    OnTarget::TearDown();
  }
  template <class F>
  void both_ways(const F& check) {
    for (const bool dots : {true, false}) {
      allow_dot_strips(dots);
      SCOPED_TRACE(dots ? "with dot products" : "without dot products");
      check();
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(GemmInt8OnTarget, EqualsReferenceForAllRowCounts) {
  const std::vector<Case> epilogues = all_epilogues();
  both_ways([&] {
    size_t turn = 0;
    for (int64_t rows = 1; rows <= 2 * gemm_strip_rows() + 3; ++rows) {
      for (const int64_t n : {2, 14, 16, 18, 32, 34, 48, 66}) {
        for (const int64_t k : {1, 4, 7, 19, 64}) {
          Case c = epilogues[turn++ % epilogues.size()];
          c.rows = rows;
          c.n = n;
          c.k = k;
          expect_reference(c);
        }
      }
    }
  });
}

TEST_P(GemmInt8OnTarget, EqualsReferenceForAllWidths) {
  both_ways([&] {
    for (Case c : all_epilogues()) {
      for (int64_t n = 1; n <= 100; n += n < 36 ? 1 : 7) {
        if (c.paired && n % 2 == 1) continue;
        c.rows = 3;
        c.n = n;
        c.k = n % 2 == 0 ? 13 : 16;
        c.bias = n % 3 != 0;
        expect_reference(c);
      }
      for (int64_t k = 1; k <= 150; k += k < 40 ? 1 : 11) {
        c.rows = 5;
        c.n = 34;
        c.k = k;
        expect_reference(c);
      }
    }
  });
}

// Whole numbers with the scale 1 leave the sums as they are: exact on every instruction set, even
// where all products have the largest magnitude and one sign.
TEST_P(GemmInt8OnTarget, SumsAreExact) {
  both_ways([&] {
    for (const int64_t k : {1, 3, 4, 64, 203, 2048}) {
      const int64_t rows = gemm_strip_rows() + 3, n = 71;
      Product product({.rows = rows, .n = n, .k = k, .bias = false});
      std::mt19937 random(static_cast<uint32_t>(k));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < k; ++i) {
          const int any = static_cast<int>(random() % (2 * kMostCode + 1)) - kMostCode;
          const int extreme = r % 4 == 0 || i == 0 ? kMostCode : r % 4 == 1 ? -kMostCode : any;
          product.a.at(r, i) = static_cast<float>(extreme);
        }
      }
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < k; ++i) {
          const int any = static_cast<int>(random() % (2 * kMostWeight + 1)) - kMostWeight;
          const int extreme = j % 4 == 0 || i == 0 ? kMostWeight : j % 4 == 1 ? -kMostWeight : any;
          product.weight.at(j, i) = static_cast<float>(extreme);
        }
      }
      const Sheet out = product.whole();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < n; ++j) {
          int64_t sum = 0;
          for (int64_t i = 0; i < k; ++i) {
            sum += static_cast<int64_t>(product.a.at(r, i)) *
                   static_cast<int64_t>(product.weight.at(j, i));
          }
          ASSERT_EQ(out.at(r, j), static_cast<float>(sum))
              << "k " << k << ", row " << r << ", " << j;
        }
      }
    }
  });
}

TEST_P(GemmInt8OnTarget, CodesEqualReference) {
  for (int64_t k = 1; k <= 150; k += k < 70 ? 1 : 13) {
    Sheet a(4, k, 3, 1);
    a.noise(static_cast<uint32_t>(k), -3.0f, 5.0f);
    a.at(1, k / 2) = 1e30f;                               // one huge value
    for (int64_t i = 0; i < k; ++i) a.at(2, i) *= 1e-3f;  // a small row
    for (int64_t i = 0; i < k; ++i) a.at(3, i) = static_cast<float>(i % 5) - 2.5f;  // ties
    const Codes codes = quantized(a);
    std::vector<int> expected(static_cast<size_t>(k));
    for (int64_t r = 0; r < a.rows(); ++r) {
      const float scale = reference::quantize(&a.at(r, 0), k, kMostCode, expected.data());
      ASSERT_EQ(std::bit_cast<uint32_t>(codes.scale(r)), std::bit_cast<uint32_t>(scale));
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(codes.code(r, i), expected[static_cast<size_t>(i)])
            << k << ": " << r << ", " << i;
      }
    }
    std::vector<int8_t> weights(static_cast<size_t>(k));
    float scale;
    quantize_weights(&a.at(0, 0), 1, k, weights.data(), &scale);
    ASSERT_EQ(scale, reference::quantize(&a.at(0, 0), k, kMostWeight, expected.data()));
    for (size_t i = 0; i < weights.size(); ++i) ASSERT_EQ(weights[i], expected[i]) << k;
  }
}

// Zeros, magnitudes that no scale can hold, infinities and NaN, in rows and in weights.
TEST_P(GemmInt8OnTarget, UnusualRowsAndColumnsEqualReference) {
  both_ways([&] {
    for (const int64_t k : {5, 40}) {
      const int64_t rows = 2 * gemm_strip_rows(), n = 37;
      Product product({.rows = rows, .n = n, .k = k});
      const float values[] = {0.0f,   -0.0f, 1e-40f, 1e-33f,    3e38f,
                              -2e38f, kNaN,  -kNaN,  kInfinity, -kInfinity};
      for (size_t v = 0; v < std::size(values); ++v) {
        const int64_t at = static_cast<int64_t>(v);
        const bool whole = std::fabs(values[v]) < 1.0f;  // a row of it, or one among others
        for (int64_t i = 0; i < (whole ? k : 1); ++i) {
          if (at < rows) product.a.at(at, i + (whole ? 0 : at % k)) = values[v];
          if (std::fabs(values[v]) < 1e30f || !std::isfinite(values[v])) {
            product.weight.at(at + 11, i + (whole ? 0 : at % k)) = values[v];
          }
        }
      }
      const Sheet out = product.whole(), expected = product.reference();
      bool seen = false;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < n; ++j) {
          const float x = out.at(r, j), y = expected.at(r, j);
          ASSERT_EQ(std::isnan(x), std::isnan(y)) << k << ": row " << r << ", column " << j;
          if (std::isnan(y)) {
            seen = true;
          } else {
            ASSERT_LE(std::fabs(x - y), 2e-6f * std::fmax(1.0f, std::fabs(y))) << r << ", " << j;
          }
        }
      }
      EXPECT_TRUE(seen);
    }
  });
}

TEST_P(GemmInt8OnTarget, BitsDoNotDependOnGroupsOfRowsOrColumns) {
  both_ways([&] {
    for (Case c : all_epilogues()) {
      c.rows = 2 * gemm_strip_rows() + 3;
      c.n = 70;
      c.k = 53;
      Product product(c);
      const Sheet whole = product.whole();
      const Codes codes = quantized(product.a);
      for (int64_t group = 1; group < c.rows; ++group) {
        Sheet parts = product.output();
        for (int64_t first = 0; first < c.rows; first += group) {
          gemm_int8(product.args(codes, parts, first, std::min(group, c.rows - first)));
        }
        ASSERT_TRUE(test::same_bits(whole, parts)) << c.name() << " by " << group;
      }
      for (int64_t cut = 0; cut <= gemm_int8_panels(product.packed); ++cut) {
        Sheet parts = product.output();
        Int8GemmArgs args = product.args(codes, parts, 0, c.rows);
        args.last_panel = cut;
        gemm_int8(args);
        args.first_panel = cut;
        args.last_panel = -1;
        gemm_int8(args);
        ASSERT_TRUE(test::same_bits(whole, parts)) << c.name() << " cut at " << cut;
        ASSERT_TRUE(parts.gaps_untouched());
      }
    }
  });
}

// A window is the row of its pixels, zero outside the grid.
TEST_P(GemmInt8OnTarget, WindowsEqualRowsOfPixels) {
  struct Layer {
    ConvGrid grid;
    int64_t kernel, stride, padding;
  };
  for (const Layer& layer :
       {Layer{{5, 7, 3}, 3, 1, 1}, Layer{{6, 4, 16}, 3, 2, 1}, Layer{{9, 9, 3}, 4, 4, 0},
        Layer{{4, 5, 37}, 7, 2, 3}, Layer{{3, 3, 5}, 5, 1, 4}, Layer{{2, 2, 20}, 2, 1, 0}}) {
    const ConvGrid& g = layer.grid;
    const Windows w = Windows::over(g, layer.kernel, layer.stride, layer.padding);
    Sheet in(2 * g.height * g.width, g.channels, 0, 1);
    in.noise(9, -2.0f, 1.0f);
    in.at(g.height * g.width - 1, 0) = kNaN;
    for (int64_t c = 0; c < g.channels; ++c) in.at(0, c) = 0.0f;
    const int64_t k = w.kernel * w.kernel * g.channels, rows = 2 * w.positions();
    Sheet pixels(rows, k);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t image = r / w.positions(), at = r % w.positions();
      for (int64_t i = 0; i < k; ++i) {
        const int64_t c = i % g.channels, tap = i / g.channels;
        const int64_t y = at / w.width * w.stride - w.top + tap / w.kernel;
        const int64_t x = at % w.width * w.stride - w.left + tap % w.kernel;
        const bool inside = y >= 0 && y < g.height && x >= 0 && x < g.width;
        pixels.at(r, i) = inside ? in.at((image * g.height + y) * g.width + x, c) : 0.0f;
      }
    }
    const Codes expected = quantized(pixels);
    Codes codes(rows, k, 8);
    for (int64_t row = 0; row < rows; ++row) {  // one by one, then all
      quantize_windows(
          {in.data(), g, w, row, row + 1, codes.bytes.data() + row * codes.stride, codes.stride});
    }
    EXPECT_EQ(codes.bytes, expected.bytes) << "kernel " << w.kernel;
    quantize_windows({in.data(), g, w, 0, rows, codes.bytes.data(), codes.stride});
    EXPECT_EQ(codes.bytes, expected.bytes) << "kernel " << w.kernel;
  }
}

VIG_ON_EVERY_TARGET(GemmInt8OnTarget);

}  // namespace
}  // namespace vig
