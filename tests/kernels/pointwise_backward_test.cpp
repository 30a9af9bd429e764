#include "vig/kernels/backward/pointwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/magnitudes.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/pointwise.h"
#include "vig/kernels/reference/pointwise_backward.h"

namespace vig {
namespace {

using test::all_magnitudes;
using test::Sheet;

std::vector<Pointwise> kinds_with(std::initializer_list<Combine> combines) {
  std::vector<Pointwise> kinds;
  for (const Elementwise function : kElementwise) {
    for (const Combine combine : combines) kinds.push_back({function, combine});
  }
  return kinds;
}

using Backward = void (*)(const PointwiseBackwardArgs&);

// The slope at each of x: dy = 1.
std::vector<float> slopes(Backward backward, Elementwise function, const std::vector<float>& x) {
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> result(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  backward({{function}, {x.data(), n}, {}, {ones.data(), n}, result.data(), n, nullptr, 0, 1, n});
  return result;
}

class PointwiseBackwardOnTarget : public test::OnTarget {};

// |got - want| <= absolute(x) + relative * |want| for every x.
template <class Absolute>
void expect_close(Elementwise function, double relative, const Absolute& absolute) {
  const std::vector<float>& x = all_magnitudes();
  const std::vector<float> got = slopes(pointwise_backward, function, x);
  const std::vector<float> want = slopes(reference::pointwise_backward, function, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = want[i];
    ASSERT_LE(std::fabs(got[i] - expected), absolute(x[i]) + relative * std::fabs(expected))
        << "x = " << x[i] << " gives " << got[i] << ", not " << expected;
  }
}

// No digits are lost where the sigmoid is near 1: both factors come from the exponential.
TEST_P(PointwiseBackwardOnTarget, SigmoidOverTheWholeRange) {
  expect_close(Elementwise::kSigmoid, 8e-7, [](double) { return 2e-38; });
}

// Near its root at -1.28 the slope is a difference of terms of size 0.3; below -87 it stays at
// -87 e^-87.
TEST_P(PointwiseBackwardOnTarget, SiluOverTheWholeRange) {
  expect_close(Elementwise::kSilu, 1.5e-6,
               [](double x) { return std::fabs(x) < 4.0 ? 3e-7 : 2e-36; });
}

// The error of erf as in the forward test; gone where the tail is.
TEST_P(PointwiseBackwardOnTarget, GeluOverTheWholeRange) {
  expect_close(Elementwise::kGelu, 4e-7, [](double x) { return std::fabs(x) < 6.0 ? 5e-7 : 1e-8; });
}

// The exponential's error, 1.5e-7, raised to the 16th power; 4e-7 beyond 320, where only w itself
// is left.
TEST_P(PointwiseBackwardOnTarget, DecayOverTheWholeRange) {
  expect_close(Elementwise::kDecay, 3.5e-6, [](double) { return 2e-38; });
}

// A jump at zero, where the slope is taken as zero.
TEST_P(PointwiseBackwardOnTarget, ReluOverTheWholeRange) {
  expect_close(Elementwise::kRelu, 0.0, [](double) { return 0.0; });
  EXPECT_EQ(slopes(pointwise_backward, Elementwise::kRelu, {0.0f, -0.0f, 1e-40f, -1e-40f}),
            (std::vector<float>{0, 0, 1, 0}));
}

TEST_P(PointwiseBackwardOnTarget, SquaredReluIsExact) {
  EXPECT_EQ(slopes(pointwise_backward, Elementwise::kRelu2, {-3.0f, -0.0f, 0.0f, 0.375f, 1e20f}),
            (std::vector<float>{0.0f, 0.0f, 0.0f, 0.75f, 2e20f}));
}

TEST_P(PointwiseBackwardOnTarget, InfinityGivesTheLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Elementwise function : kElementwise) {
    if (function == Elementwise::kIdentity || function == Elementwise::kRelu2) continue;
    const std::vector<float> got = slopes(pointwise_backward, function, {inf, -inf});
    const bool line = function == Elementwise::kSilu || function == Elementwise::kGelu ||
                      function == Elementwise::kRelu;
    EXPECT_NEAR(got[0], line ? 1.0f : 0.0f, 3e-7) << elementwise_name(function);
    EXPECT_NEAR(got[1], 0.0f, 2e-36) << elementwise_name(function);
  }
}

// Operands side by side in one row, as SwiGLU has them, and their gradients too.
struct Halves {
  Halves(int64_t rows, int64_t channels, int64_t offset) : sheet(rows, 2 * channels, 3, offset) {}
  float* second() { return sheet.data() + sheet.width() / 2; }
  Sheet sheet;
};

PointwiseBackwardArgs arguments(Pointwise kind, Halves& ab, Sheet& dy, Halves& to) {
  PointwiseBackwardArgs args;
  args.kind = kind;
  args.a = {ab.sheet.data(), ab.sheet.stride};
  args.b = {ab.second(), ab.sheet.stride};
  args.dy = {dy.data(), dy.stride};
  args.da = to.sheet.data();
  args.da_stride = to.sheet.stride;
  args.db = to.second();
  args.db_stride = to.sheet.stride;
  args.rows = dy.rows();
  args.channels = dy.width();
  return args;
}

TEST_P(PointwiseBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const Pointwise kind : kinds_with({Combine::kAdd, Combine::kMul})) {
    for (const int64_t rows : {0, 1, 3}) {
      for (int64_t channels = 0; channels <= 35; ++channels) {
        Halves ab(rows, channels, 1), fast(rows, channels, 3), slow = fast;
        Sheet dy(rows, channels, 1, 2);
        ab.sheet.noise(static_cast<uint32_t>(channels), -4.0f, 4.0f);
        dy.noise(static_cast<uint32_t>(channels + 1), -4.0f, 4.0f);
        reference::pointwise_backward(arguments(kind, ab, dy, slow));
        pointwise_backward(arguments(kind, ab, dy, fast));
        // Values up to 20, a few roundings of 6e-8 of that.
        ASSERT_LE(test::distance(fast.sheet, slow.sheet), 1e-5) << elementwise_name(kind.function);
        ASSERT_TRUE(fast.sheet.gaps_untouched());
        pointwise_backward(arguments(kind, ab, dy, ab));  // in place
        ASSERT_TRUE(test::same_bits(fast.sheet, ab.sheet));
        ASSERT_TRUE(ab.sheet.gaps_untouched());
      }
    }
  }
  for (const Pointwise kind : kinds_with({Combine::kNone})) {
    for (int64_t channels = 0; channels <= 35; ++channels) {
      Sheet a(3, channels, 3, 1), dy(3, channels, 4, 2), fast(3, channels, 5, 3), slow = fast;
      a.noise(static_cast<uint32_t>(channels), -4.0f, 4.0f);
      dy.noise(static_cast<uint32_t>(channels + 1));
      PointwiseBackwardArgs args;
      args.kind = kind;
      args.a = {a.data(), a.stride};
      args.dy = {dy.data(), dy.stride};
      args.rows = 3;
      args.channels = channels;
      args.da = slow.data();
      args.da_stride = slow.stride;
      reference::pointwise_backward(args);
      args.da = fast.data();
      pointwise_backward(args);
      ASSERT_LE(test::distance(fast, slow), 1e-6)
          << elementwise_name(kind.function);  // slopes up to 1.1
      ASSERT_TRUE(fast.gaps_untouched());
      args.da = dy.data();  // in place
      args.da_stride = dy.stride;
      pointwise_backward(args);
      ASSERT_TRUE(test::same_bits(fast, dy));
      ASSERT_TRUE(dy.gaps_untouched());
    }
  }
}

TEST_P(PointwiseBackwardOnTarget, ScaleEqualsReference) {
  for (const int64_t rows : {0, 1, 4, 11}) {
    for (int64_t channels = 0; channels <= 35; ++channels) {
      Sheet x(rows, channels, 3, 1), dy(rows, channels, 4, 2), weight(1, channels);
      x.noise(1);
      dy.noise(2);
      weight.noise(3);
      Sheet fast(rows, channels, 5, 3), slow = fast;
      Sheet fast_sum(1, channels, 0, 1), slow_sum(1, channels);
      fast_sum.noise(4);  // they are added to
      slow_sum.noise(4);
      ScaleBackwardArgs args = {
          {x.data(), x.stride}, {dy.data(), dy.stride}, weight.data(), slow.data(),
          slow.stride,          slow_sum.data(),        rows,          channels};
      reference::scale_backward(args);
      args.dx = fast.data();
      args.dweight = fast_sum.data();
      scale_backward(args);
      ASSERT_TRUE(test::same_bits(fast, slow)) << channels;             // one rounded product
      ASSERT_LE(test::distance(fast_sum, slow_sum), 1e-6) << channels;  // 11 products below 1
      ASSERT_TRUE(fast.gaps_untouched());
      ASSERT_TRUE(fast_sum.gaps_untouched());
      for (Sheet* operand : {&dy, &x}) {  // in place; each call begins with whole operands
        Sheet again = *operand;
        args.x = {operand == &x ? again.data() : x.data(), x.stride};
        args.dy = {operand == &dy ? again.data() : dy.data(), dy.stride};
        args.dx = again.data();
        args.dx_stride = again.stride;
        scale_backward(args);
        ASSERT_TRUE(test::same_bits(fast, again)) << channels;
      }
    }
  }
}

void expect_column_sums(int64_t rows, int64_t channels, float low, double tolerance) {
  Sheet in(rows, channels, 3, 1), fast(1, channels, 0, 1), slow(1, channels);
  in.noise(static_cast<uint32_t>(rows * 100 + channels), low, 1.0f);
  fast.noise(5);
  slow.noise(5);
  add_column_sums(in.data(), in.stride, rows, channels, fast.data());
  reference::add_column_sums(in.data(), in.stride, rows, channels, slow.data());
  ASSERT_LE(test::distance(fast, slow), tolerance) << rows << " rows of " << channels;
  ASSERT_TRUE(fast.gaps_untouched());
}

TEST_P(PointwiseBackwardOnTarget, ColumnSumsEqualReference) {
  for (const int64_t rows : {0, 1, 127, 128, 129, 300}) {
    for (int64_t channels = 0; channels <= 67; ++channels) {
      expect_column_sums(rows, channels, -1.0f, 2e-5);  // sums up to 30, 130 roundings at worst
    }
  }
  expect_column_sums(3, 301, -1.0f, 1e-6);
}

// Positive values: the sum is 100 000, its ulp 8e-3. Blocks of 128 leave a random walk of
// 1563 roundings of up to half of that: four deviations are 4 sqrt(1563 / 3) 4e-3.
TEST_P(PointwiseBackwardOnTarget, LongColumnSumsStayExact) {
  expect_column_sums(200'000, 17, 0.0f, 0.36);
}

struct MixCase {
  int64_t rows, heads, width;
  bool o_norm = true, local_norm = true, silu = false;
  float reach = 1.0f;  // of o and local
  float gate = 4.0f;   // of the gate
  float eps = 1e-5f;

  int64_t channels() const { return heads * width; }
  std::string name() const {
    return std::to_string(rows) + " rows, " + std::to_string(heads) + " heads of " +
           std::to_string(width) + (o_norm ? " o" : "") + (local_norm ? " local" : "") +
           (silu ? " silu" : "");
  }
};

struct MixOperands {
  explicit MixOperands(const MixCase& c)
      : gate(c.rows, c.channels(), 3, 1),
        o(c.rows, c.channels(), 4, 2),
        local(c.rows, c.channels(), 1, 3),
        dy(c.rows, c.channels(), 2, 1),
        o_weight(1, c.width),
        local_weight(1, c.width) {
    gate.noise(1, -c.gate, c.gate);
    o.noise(2, -c.reach, c.reach);
    local.noise(3, -c.reach, c.reach);
    dy.noise(4);
    o_weight.noise(5, 0.5f, 1.5f);
    local_weight.noise(6, 0.5f, 1.5f);
  }
  Sheet gate, o, local, dy, o_weight, local_weight;
};

struct MixGradients {
  explicit MixGradients(const MixCase& c)
      : dgate(c.rows, c.channels(), 5, 3),
        d_o(c.rows, c.channels(), 1, 2),
        dlocal(c.rows, c.channels(), 3, 1),
        do_weight(1, c.width, 0, 1),
        dlocal_weight(1, c.width, 0, 1) {
    do_weight.noise(7);  // they are added to
    dlocal_weight.noise(8);
  }
  Sheet dgate, d_o, dlocal, do_weight, dlocal_weight;
};

GatedMixBackwardArgs arguments(const MixCase& c, const MixOperands& from, MixGradients& to) {
  GatedMixBackwardArgs args;
  args.gate = {from.gate.data(), from.gate.stride};
  args.o = {from.o.data(), from.o.stride};
  args.local = {from.local.data(), from.local.stride};
  args.o_weight = c.o_norm ? from.o_weight.data() : nullptr;
  args.local_weight = c.local_norm ? from.local_weight.data() : nullptr;
  args.eps = c.eps;
  args.heads = c.heads;
  args.silu = c.silu;
  args.dy = {from.dy.data(), from.dy.stride};
  args.dgate = to.dgate.data();
  args.dgate_stride = to.dgate.stride;
  args.d_o = to.d_o.data();
  args.d_o_stride = to.d_o.stride;
  args.dlocal = to.dlocal.data();
  args.dlocal_stride = to.dlocal.stride;
  args.do_weight = c.o_norm ? to.do_weight.data() : nullptr;
  args.dlocal_weight = c.local_norm ? to.dlocal_weight.data() : nullptr;
  args.rows = c.rows;
  args.channels = c.channels();
  return args;
}

// The gradient of an operand has terms of size dy * weight / root, at most 1.5 / root, or 1.
void expect_operand(const MixCase& c, bool norm, const Sheet& x, const Sheet& fast,
                    const Sheet& slow) {
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t i = 0; i < c.channels(); ++i) {
      double square = 0.0;
      for (int64_t k = i / c.width * c.width; k < (i / c.width + 1) * c.width; ++k) {
        square += static_cast<double>(x.at(r, k)) * x.at(r, k) / static_cast<double>(c.width);
      }
      const double size = norm ? 1.5 / std::sqrt(square + c.eps) : 1.0;
      // A dozen roundings of 6e-8, and those of the sigmoids, 3e-7 each.
      ASSERT_NEAR(fast.at(r, i), slow.at(r, i), 3e-6 * size) << c.name();
    }
  }
}

void expect_mix_reference(const MixCase& c) {
  const MixOperands from(c);
  MixGradients fast(c), slow(c);
  gated_mix_backward(arguments(c, from, fast));
  reference::gated_mix_backward(arguments(c, from, slow));
  expect_operand(c, c.o_norm, from.o, fast.d_o, slow.d_o);
  expect_operand(c, c.local_norm, from.local, fast.dlocal, slow.dlocal);
  ASSERT_LE(test::distance(fast.dgate, slow.dgate), 3e-6) << c.name();  // values below 1.5
  // Sums of up to 27 products below 2.
  ASSERT_LE(test::distance(fast.do_weight, slow.do_weight), 5e-6) << c.name();
  ASSERT_LE(test::distance(fast.dlocal_weight, slow.dlocal_weight), 5e-6) << c.name();
  for (const Sheet* sheet :
       {&fast.dgate, &fast.d_o, &fast.dlocal, &fast.do_weight, &fast.dlocal_weight}) {
    ASSERT_TRUE(sheet->gaps_untouched()) << c.name();
  }
}

TEST_P(PointwiseBackwardOnTarget, GatedMixEqualsReference) {
  for (const int64_t heads : {1, 3}) {
    for (int64_t width = 1; width <= 35; ++width) {
      for (int flags = 0; flags < 8; ++flags) {
        const bool o_norm = (flags & 1) != 0, local_norm = (flags & 2) != 0;
        expect_mix_reference({5, heads, width, o_norm, local_norm, (flags & 4) != 0});
      }
    }
    expect_mix_reference({9, heads, 64, true, true, true});
    expect_mix_reference({0, heads, 8});
  }
}

TEST_P(PointwiseBackwardOnTarget, GatedMixOfTinyRowsAndExtremeGates) {
  for (const bool silu : {false, true}) {
    expect_mix_reference({5, 3, 32, true, true, silu, 1e-3f});  // so small that eps counts
    expect_mix_reference({5, 2, 21, true, true, silu, 0.0f});
    for (const float gate : {20.0f, 200.0f, 1e30f}) {
      expect_mix_reference({5, 2, 37, true, true, silu, 1.0f, gate});
      expect_mix_reference({5, 2, 37, false, false, silu, 1.0f, gate});
    }
  }
}

TEST_P(PointwiseBackwardOnTarget, GatedMixBitsDoNotDependOnTheSplit) {
  const MixCase c = {11, 2, 37, true, true, true};
  const MixOperands from(c);
  MixGradients whole(c), parts(c);
  gated_mix_backward(arguments(c, from, whole));
  for (int64_t first = 0; first < c.rows; first += 3) {
    GatedMixBackwardArgs args = arguments(c, from, parts);
    args.rows = std::min<int64_t>(3, c.rows - first);
    for (Rows* rows : {&args.gate, &args.o, &args.local, &args.dy}) {
      rows->data += first * rows->stride;
    }
    args.dgate += first * args.dgate_stride;
    args.d_o += first * args.d_o_stride;
    args.dlocal += first * args.dlocal_stride;
    gated_mix_backward(args);
  }
  EXPECT_TRUE(test::same_bits(whole.dgate, parts.dgate));
  EXPECT_TRUE(test::same_bits(whole.d_o, parts.d_o));
  EXPECT_TRUE(test::same_bits(whole.dlocal, parts.dlocal));
  EXPECT_LE(test::distance(whole.do_weight, parts.do_weight), 5e-6);
}

VIG_ON_EVERY_TARGET(PointwiseBackwardOnTarget);

// See slope.h; fifth derivatives are of order 100 at most here.
constexpr double kSlopeTolerance = 3e-5;

double weighted_sum(const Sheet& dy, const Sheet& y) {
  double sum = 0.0;
  for (int64_t r = 0; r < y.rows(); ++r) {
    for (int64_t c = 0; c < y.width(); ++c) sum += static_cast<double>(dy.at(r, c)) * y.at(r, c);
  }
  return sum;
}

TEST(PointwiseBackward, ReferenceIsTheSlopeOfTheForwardReference) {
  for (const Pointwise kind : kinds_with({Combine::kNone, Combine::kAdd, Combine::kMul})) {
    Halves ab(2, 9, 0), got(2, 9, 0);
    Sheet dy(2, 9);
    ab.sheet.noise(1, -3.0f, 3.0f);
    dy.noise(2);
    const PointwiseBackwardArgs args = arguments(kind, ab, dy, got);
    reference::pointwise_backward(args);
    const auto value = [&] {
      Sheet out(2, 9);
      reference::pointwise({kind, args.a, args.b, out.data(), out.stride, 2, 9});
      return weighted_sum(dy, out);
    };
    for (int64_t r = 0; r < 2; ++r) {
      for (int64_t c = 0; c < 18; ++c) {
        EXPECT_NEAR(got.sheet.at(r, c), test::slope(ab.sheet.at(r, c), value), kSlopeTolerance)
            << elementwise_name(kind.function);
      }
    }
  }
}

TEST(PointwiseBackward, GatedMixReferenceIsTheSlopeOfTheForwardReference) {
  for (int flags = 0; flags < 8; ++flags) {
    MixCase c = {2, 2, 5, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0};
    c.eps = 0.1f;
    MixOperands at(c);
    MixGradients got(c);
    got.do_weight.fill([] { return 0.0f; });
    got.dlocal_weight.fill([] { return 0.0f; });
    const GatedMixBackwardArgs args = arguments(c, at, got);
    reference::gated_mix_backward(args);
    const auto value = [&] {
      Sheet out(c.rows, c.channels());
      reference::gated_mix({args.gate, args.o, args.local, args.o_weight, args.local_weight, c.eps,
                            c.heads, c.silu, out.data(), out.stride, c.rows, c.channels()});
      return weighted_sum(at.dy, out);
    };
    const auto expect = [&](const Sheet& gradient, Sheet& operand) {
      for (int64_t r = 0; r < operand.rows(); ++r) {
        for (int64_t i = 0; i < operand.width(); ++i) {
          EXPECT_NEAR(gradient.at(r, i), test::slope(operand.at(r, i), value), kSlopeTolerance)
              << c.name();
        }
      }
    };
    expect(got.dgate, at.gate);
    expect(got.d_o, at.o);
    expect(got.dlocal, at.local);
    expect(got.do_weight, at.o_weight);
    expect(got.dlocal_weight, at.local_weight);
  }
}

}  // namespace
}  // namespace vig
