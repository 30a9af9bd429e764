#include "vig/kernels/pointwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/magnitudes.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/activations.h"
#include "vig/kernels/reference/pointwise.h"

namespace vig {
namespace {

using test::all_magnitudes;
using test::Sheet;

std::vector<Pointwise> all_kinds() {
  std::vector<Pointwise> kinds;
  for (const Elementwise function : kElementwise) {
    for (const Combine combine : {Combine::kNone, Combine::kAdd, Combine::kMul}) {
      kinds.push_back({function, combine});
    }
  }
  return kinds;
}

std::vector<float> apply(Elementwise function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const int64_t n = static_cast<int64_t>(x.size());
  pointwise({{function}, {x.data(), n}, {}, y.data(), n, 1, n});
  return y;
}

class PointwiseOnTarget : public test::OnTarget {};

// |got - want| <= absolute(x) + relative * |want| for every x.
template <class Want, class Absolute>
void expect_close(Elementwise function, const Want& want, double relative,
                  const Absolute& absolute) {
  const std::vector<float>& x = all_magnitudes();
  const std::vector<float> y = apply(function, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = want(static_cast<double>(x[i]));
    ASSERT_LE(std::fabs(y[i] - expected), absolute(x[i]) + relative * std::fabs(expected))
        << "x = " << x[i] << " gives " << y[i] << ", not " << expected;
  }
}

// Below -87 the exponential stays at e^87, hence 2e-38 instead of zero.
TEST_P(PointwiseOnTarget, SigmoidOverTheWholeRange) {
  expect_close(Elementwise::kSigmoid, reference::sigmoid, 5e-7, [](double) { return 2e-38; });
}

TEST_P(PointwiseOnTarget, SiluOverTheWholeRange) {
  expect_close(Elementwise::kSilu, reference::silu, 6e-7,
               [](double x) { return 2e-38 * (1.0 + std::fabs(x)); });
}

// The error of erf, 1.5e-7 and as many roundings as its sum of terms up to 1.5 has, multiplied with
// x / 2; gone where the tail is.
TEST_P(PointwiseOnTarget, GeluOverTheWholeRange) {
  expect_close(Elementwise::kGelu, reference::gelu, 2e-7,
               [](double x) { return std::fabs(x) < 6.0 ? 5e-7 * std::fabs(x) + 2e-38 : 1e-8; });
}

// The logarithm is exact to 1e-7 and divided by 16; the exponential adds its own error. The gate
// never leaves (0, 1]: a state must not grow by itself.
TEST_P(PointwiseOnTarget, DecayOverTheWholeRange) {
  expect_close(Elementwise::kDecay, reference::decay, 5e-7, [](double) { return 2e-38; });
  for (const float alpha : apply(Elementwise::kDecay, all_magnitudes())) {
    ASSERT_GT(alpha, 0.0f);
    ASSERT_LE(alpha, 1.0f);
  }
}

// Exactly; not a number stays one.
TEST_P(PointwiseOnTarget, ReluOverTheWholeRange) {
  expect_close(
      Elementwise::kRelu, [](double x) { return std::max(x, 0.0); }, 0.0,
      [](double) { return 0.0; });
  EXPECT_TRUE(std::isnan(apply(Elementwise::kRelu, {std::numeric_limits<float>::quiet_NaN()})[0]));
}

TEST_P(PointwiseOnTarget, SquaredReluIsExact) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(apply(Elementwise::kRelu2, {-3.0f, -0.0f, 0.375f, 4096.0f, -inf, inf}),
            (std::vector<float>{0.0f, 0.0f, 0.140625f, 16777216.0f, 0.0f, inf}));
  EXPECT_TRUE(std::isnan(apply(Elementwise::kRelu2, {std::numeric_limits<float>::quiet_NaN()})[0]));
}

TEST_P(PointwiseOnTarget, InfinityGivesTheLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> ends = {inf, -inf};
  for (const Elementwise function : {Elementwise::kSigmoid, Elementwise::kDecay}) {
    const std::vector<float> y = apply(function, ends);
    EXPECT_NEAR(y[0], 1.0f, 2e-7);
    EXPECT_NEAR(y[1], 0.0f, 2e-38);
  }
  EXPECT_EQ(apply(Elementwise::kSilu, ends)[0], inf);
}

TEST_P(PointwiseOnTarget, EqualsReferenceOnUglySizes) {
  for (const Pointwise kind : all_kinds()) {
    for (const int64_t rows : {0, 1, 3}) {
      for (int64_t channels = 0; channels <= 35; ++channels) {
        for (const bool shared : {false, true}) {  // one row of b for all
          Sheet a(rows, channels, 3, 1), b(rows == 0 ? 1 : rows, channels, 4, 2);
          a.noise(static_cast<uint32_t>(channels), -4.0f, 4.0f);
          b.noise(static_cast<uint32_t>(channels + 100), -4.0f, 4.0f);
          PointwiseArgs args;
          args.kind = kind;
          args.a = {a.data(), a.stride};
          if (kind.combine != Combine::kNone) args.b = {b.data(), shared ? 0 : b.stride};
          args.rows = rows;
          args.channels = channels;
          Sheet fast(rows, channels, 5, 3), slow = fast;
          args.out_stride = fast.stride;
          args.out = slow.data();
          reference::pointwise(args);
          args.out = fast.data();
          pointwise(args);
          // Values up to 16, a few roundings of 6e-8 of that.
          ASSERT_LE(test::distance(fast, slow), 6e-6)
              << elementwise_name(kind.function) << " " << channels;
          ASSERT_TRUE(fast.gaps_untouched());
          args.out = a.data();  // in place
          args.out_stride = a.stride;
          pointwise(args);
          ASSERT_TRUE(test::same_bits(fast, a));
          ASSERT_TRUE(a.gaps_untouched());
        }
      }
    }
  }
}

struct MixCase {
  int64_t rows, heads, width;
  bool o_norm = true, local_norm = true, silu = false;
  float reach = 1.0f;  // of o and local
};

void expect_mix_reference(const MixCase& c) {
  const int64_t channels = c.heads * c.width;
  Sheet gate(c.rows, channels, 3, 1), o(c.rows, channels, 4, 2), local(c.rows, channels, 1, 3);
  Sheet o_weight(1, c.width), local_weight(1, c.width);
  gate.noise(1, -4.0f, 4.0f);
  o.noise(2, -c.reach, c.reach);
  local.noise(3, -c.reach, c.reach);
  o_weight.noise(4, 0.5f, 1.5f);
  local_weight.noise(5, 0.5f, 1.5f);
  Sheet fast(c.rows, channels, 5, 3), slow = fast;
  GatedMixArgs args;
  args.gate = {gate.data(), gate.stride};
  args.o = {o.data(), o.stride};
  args.local = {local.data(), local.stride};
  args.o_weight = c.o_norm ? o_weight.data() : nullptr;
  args.local_weight = c.local_norm ? local_weight.data() : nullptr;
  args.eps = 1e-5f;
  args.heads = c.heads;
  args.silu = c.silu;
  args.rows = c.rows;
  args.channels = channels;
  args.out = slow.data();
  args.out_stride = slow.stride;
  reference::gated_mix(args);
  args.out = fast.data();
  gated_mix(args);
  const std::string name = std::to_string(c.heads) + " heads of " + std::to_string(c.width);
  ASSERT_LE(test::distance(fast, slow), 2e-6) << name;  // results of order 1
  ASSERT_TRUE(fast.gaps_untouched()) << name;
  args.out = o.data();
  args.out_stride = o.stride;
  gated_mix(args);
  ASSERT_TRUE(test::same_bits(fast, o)) << name << " in place";
}

TEST_P(PointwiseOnTarget, GatedMixEqualsReference) {
  for (const int64_t heads : {1, 3}) {
    for (int64_t width = 1; width <= 35; ++width) {
      for (int flags = 0; flags < 8; ++flags) {
        expect_mix_reference(
            {2, heads, width, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0});
      }
    }
    expect_mix_reference({5, heads, 64});
    expect_mix_reference({5, heads, 32, true, true, true, 1e-3f});  // so small that eps counts
    expect_mix_reference({0, heads, 8});
  }
}

VIG_ON_EVERY_TARGET(PointwiseOnTarget);

}  // namespace
}  // namespace vig
