#include "vig/kernels/norm.h"

#include <gtest/gtest.h>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/norm.h"

namespace vig {
namespace {

using test::Sheet;

// Results are of order 1 and cost a few roundings of 6e-8; the sums before them are longer but
// enter through a square root.
constexpr double kTolerance = 2e-6;

struct Case {
  int64_t rows;
  int64_t width;  // of a group
  int64_t groups = 1;
  float eps = 1e-6f;
  float low = -1.0f;
  float high = 1.0f;
  double tolerance = kTolerance;
};

struct Operands {
  explicit Operands(const Case& c)
      : in(c.rows, c.width * c.groups, 3, 1), weight(1, c.width), bias(1, c.width) {
    const uint32_t seed = static_cast<uint32_t>(c.rows * 1000 + c.width);
    in.noise(seed, c.low, c.high);
    weight.noise(seed + 1, 0.5f, 1.5f);
    bias.noise(seed + 2);
    args.in = in.data();
    args.in_stride = in.stride;
    args.rows = c.rows;
    args.channels = c.width * c.groups;
    args.eps = c.eps;
    args.weight = weight.data();
    args.bias = bias.data();
    args.groups = c.groups;
  }
  NormArgs to(Sheet& out) {
    args.out = out.data();
    args.out_stride = out.stride;
    return args;
  }
  Sheet in, weight, bias;
  NormArgs args;
};

using Norm = void (*)(const NormArgs&);

void expect_reference(Norm fast_norm, Norm slow_norm, const Case& c) {
  Operands operands(c);
  Sheet fast(c.rows, c.width * c.groups, 5, 3), slow = fast;
  fast_norm(operands.to(fast));
  slow_norm(operands.to(slow));
  ASSERT_LE(test::distance(fast, slow), c.tolerance)
      << c.rows << " rows, " << c.groups << " groups of " << c.width;
  ASSERT_TRUE(fast.gaps_untouched());
  fast_norm(operands.to(operands.in));  // in place
  ASSERT_TRUE(test::same_bits(fast, operands.in)) << c.width;
  ASSERT_TRUE(operands.in.gaps_untouched());
}

class NormOnTarget : public test::OnTarget {};

TEST_P(NormOnTarget, LayerEqualsReference) {
  for (const int64_t rows : {0, 1, 3, 9}) {  // four at a time, then single ones
    for (int64_t width = 1; width <= 35; ++width) {
      expect_reference(layer_norm, reference::layer_norm, {rows, width});
    }
  }
  for (const int64_t width : {192, 384, 768, 1001}) {
    expect_reference(layer_norm, reference::layer_norm, {2, width});
  }
}

// A mean far from zero: from squares minus the squared mean nothing of the variance would be left.
// The sum of 192 values near 1000 is rounded to 0.01, one after the other where a vector is one
// float, which moves the mean by up to a hundredth of the deviation, 1 / sqrt 12.
TEST_P(NormOnTarget, LayerSurvivesALargeMean) {
  expect_reference(layer_norm, reference::layer_norm, {2, 192, 1, 1e-6f, 1000.0f, 1001.0f, 2e-2});
}

// Inputs so small that eps decides.
TEST_P(NormOnTarget, EpsilonCounts) {
  for (const float eps : {1e-6f, 1e-5f}) {
    expect_reference(layer_norm, reference::layer_norm, {2, 37, 1, eps, -1e-3f, 1e-3f});
    expect_reference(rms_norm, reference::rms_norm, {2, 37, 2, eps, -1e-3f, 1e-3f});
  }
  expect_reference(layer_norm, reference::layer_norm, {1, 20, 1, 1e-5f, 0.25f, 0.25f});
  expect_reference(rms_norm, reference::rms_norm, {1, 20, 1, 1e-5f, 0.0f, 0.0f});
}

TEST_P(NormOnTarget, RmsEqualsReference) {
  for (const int64_t groups : {1, 2, 3}) {
    for (int64_t width = 1; width <= 35; ++width) {
      for (const int64_t rows : {3, 9}) {
        expect_reference(rms_norm, reference::rms_norm, {rows, width, groups});
      }
    }
    expect_reference(rms_norm, reference::rms_norm, {0, 8, groups});
    expect_reference(rms_norm, reference::rms_norm, {2, 384, groups});
  }
}

VIG_ON_EVERY_TARGET(NormOnTarget);

}  // namespace
}  // namespace vig
