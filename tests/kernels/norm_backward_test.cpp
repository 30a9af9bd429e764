#include "vig/kernels/backward/norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/norm.h"
#include "vig/kernels/reference/norm_backward.h"

namespace vig {
namespace {

using test::Sheet;

// dx is a difference of terms of size |dy weight| / root, each with a few roundings of 6e-8 and a
// mean whose sum has some more.
constexpr double kTolerance = 3e-6;
// Up to 27 products below 3, a few roundings each.
constexpr double kSumTolerance = 6e-6;

struct Case {
  int64_t rows;
  int64_t width;  // of a group
  int64_t groups = 1;
  float eps = 1e-6f;
  float low = -1.0f;
  float high = 1.0f;
  double tolerance = kTolerance;
  double sum_tolerance = kSumTolerance;

  std::string name() const {
    return std::to_string(rows) + " rows, " + std::to_string(groups) + " groups of " +
           std::to_string(width);
  }
};

// What the forward pass saw, and dy.
struct Operands {
  explicit Operands(const Case& c)
      : in(c.rows, c.width * c.groups, 3, 1),
        dy(c.rows, c.width * c.groups, 3, 2),
        residual(c.rows, c.width * c.groups, 3, 3),
        weight(1, c.width),
        bias(1, c.width) {
    const uint32_t seed = static_cast<uint32_t>(c.rows * 1000 + c.width);
    in.noise(seed, c.low, c.high);
    dy.noise(seed + 1);
    residual.noise(seed + 2);
    weight.noise(seed + 3, 0.5f, 1.5f);
    bias.noise(seed + 4);
  }
  Sheet in, dy, residual, weight, bias;
};

struct Gradients {
  explicit Gradients(const Case& c)
      : dx(c.rows, c.width * c.groups, 3, 3), dweight(1, c.width, 0, 1), dbias(1, c.width, 0, 2) {
    dweight.noise(11);  // they are added to
    dbias.noise(12);
  }
  Sheet dx, dweight, dbias;
};

NormBackwardArgs arguments(const Case& c, const Operands& from, Gradients& to, bool residual) {
  NormBackwardArgs args;
  args.in = from.in.data();
  args.in_stride = from.in.stride;
  args.dy = from.dy.data();
  args.dy_stride = from.dy.stride;
  args.residual = residual ? from.residual.data() : nullptr;
  args.residual_stride = from.residual.stride;
  args.dx = to.dx.data();
  args.dx_stride = to.dx.stride;
  args.rows = c.rows;
  args.channels = c.width * c.groups;
  args.eps = c.eps;
  args.weight = from.weight.data();
  args.dweight = to.dweight.data();
  args.dbias = to.dbias.data();
  args.groups = c.groups;
  return args;
}

struct Norm {
  void (*fast)(const NormBackwardArgs&);
  void (*slow)(const NormBackwardArgs&);
  void (*forward)(const NormArgs&);
  bool centred;
};
constexpr Norm kLayer = {layer_norm_backward, reference::layer_norm_backward, reference::layer_norm,
                         true};
constexpr Norm kRms = {rms_norm_backward, reference::rms_norm_backward, reference::rms_norm, false};

// The size of the terms of dx in one group.
double scale(const Norm& norm, const Case& c, const Operands& from, int64_t row, int64_t at) {
  double mean = 0.0, square = 0.0, largest = 0.0;
  const double n = static_cast<double>(c.width);
  for (int64_t i = 0; norm.centred && i < c.width; ++i) mean += from.in.at(row, at + i) / n;
  for (int64_t i = 0; i < c.width; ++i) {
    const double x = from.in.at(row, at + i) - mean;
    square += x * x / n;
    largest = std::max(
        largest, std::fabs(static_cast<double>(from.dy.at(row, at + i)) * from.weight.at(0, i)));
  }
  return largest / std::sqrt(square + c.eps);
}

void expect_reference(const Norm& norm, const Case& c) {
  for (const bool residual : {false, true}) {
    Operands from(c);
    Gradients fast(c), slow(c);
    norm.fast(arguments(c, from, fast, residual));
    norm.slow(arguments(c, from, slow, residual));
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t i = 0; i < c.width * c.groups; ++i) {
        const double size = scale(norm, c, from, r, i / c.width * c.width) + (residual ? 1.0 : 0.0);
        ASSERT_NEAR(fast.dx.at(r, i), slow.dx.at(r, i), c.tolerance * size) << c.name();
      }
    }
    ASSERT_LE(test::distance(fast.dweight, slow.dweight), c.sum_tolerance) << c.name();
    ASSERT_LE(test::distance(fast.dbias, slow.dbias), kSumTolerance) << c.name();
    for (const Sheet* sheet : {&fast.dx, &fast.dweight, &fast.dbias}) {
      ASSERT_TRUE(sheet->gaps_untouched()) << c.name();
    }
    // Over each operand, by runs of rows: the same bits.
    for (Sheet Operands::*operand : {&Operands::in, &Operands::dy, &Operands::residual}) {
      if (operand == &Operands::residual && !residual) continue;
      Operands again(c);
      Gradients sums(c);
      NormBackwardArgs args = arguments(c, again, sums, residual);
      args.dx = (again.*operand).data();
      args.dx_stride = (again.*operand).stride;
      for (int64_t first = 0; first < c.rows; first += 3) {
        NormBackwardArgs part = args;
        part.in += first * part.in_stride;
        part.dy += first * part.dy_stride;
        if (residual) part.residual += first * part.residual_stride;
        part.dx += first * part.dx_stride;
        part.rows = std::min<int64_t>(3, c.rows - first);
        norm.fast(part);
      }
      ASSERT_TRUE(test::same_bits(fast.dx, again.*operand)) << c.name();
      ASSERT_TRUE((again.*operand).gaps_untouched()) << c.name();
      ASSERT_LE(test::distance(sums.dweight, slow.dweight), c.sum_tolerance) << c.name();
    }
  }
}

class NormBackwardOnTarget : public test::OnTarget {};

TEST_P(NormBackwardOnTarget, LayerEqualsReference) {
  for (const int64_t rows : {0, 1, 4, 9}) {
    for (int64_t width = 1; width <= 35; ++width) expect_reference(kLayer, {rows, width});
  }
  for (const int64_t width : {192, 384, 501}) expect_reference(kLayer, {5, width});
}

TEST_P(NormBackwardOnTarget, RmsEqualsReference) {
  for (const int64_t groups : {1, 3}) {
    for (const int64_t rows : {0, 1, 9}) {
      for (int64_t width = 1; width <= 35; ++width) expect_reference(kRms, {rows, width, groups});
    }
    expect_reference(kRms, {5, 192, groups});
  }
}

// Rows so small that eps decides, and rows of one number only.
TEST_P(NormBackwardOnTarget, EpsilonCounts) {
  for (const float eps : {1e-6f, 1e-5f}) {
    expect_reference(kLayer, {5, 37, 1, eps, -1e-3f, 1e-3f});
    expect_reference(kRms, {5, 37, 2, eps, -1e-3f, 1e-3f});
  }
  expect_reference(kLayer, {5, 20, 1, 1e-5f, 0.25f, 0.25f});
  expect_reference(kRms, {5, 20, 1, 1e-5f, 0.0f, 0.0f});
}

// The mean is wrong by up to a hundredth of the deviation, as in the forward test.
TEST_P(NormBackwardOnTarget, LayerSurvivesALargeMean) {
  expect_reference(kLayer, {2, 192, 1, 1e-6f, 1000.0f, 1001.0f, 2e-2, 4e-2});
}

VIG_ON_EVERY_TARGET(NormBackwardOnTarget);

// The reference implementations against differences of the forward ones: the gradients of sum(dy *
// y).
void expect_slopes(const Norm& norm, const Case& c) {
  Operands at(c);
  Gradients got(c);
  got.dweight.fill([] { return 0.0f; });
  got.dbias.fill([] { return 0.0f; });
  norm.slow(arguments(c, at, got, false));
  const auto value = [&] {
    Sheet out(c.rows, c.width * c.groups);
    norm.forward({at.in.data(), at.in.stride, out.data(), out.stride, c.rows, c.width * c.groups,
                  c.eps, at.weight.data(), at.bias.data(), c.groups});
    double sum = 0.0;
    for (int64_t r = 0; r < c.rows; ++r) {
      for (int64_t i = 0; i < out.width(); ++i) {
        sum += static_cast<double>(at.dy.at(r, i)) * out.at(r, i);
      }
    }
    return sum;
  };
  // See slope.h; fifth derivatives are of order 100 here.
  constexpr double kSlopeTolerance = 3e-5;
  for (int64_t r = 0; r < c.rows; ++r) {
    for (int64_t i = 0; i < c.width * c.groups; ++i) {
      EXPECT_NEAR(got.dx.at(r, i), test::slope(at.in.at(r, i), value), kSlopeTolerance);
    }
  }
  for (int64_t i = 0; i < c.width; ++i) {
    EXPECT_NEAR(got.dweight.at(0, i), test::slope(at.weight.at(0, i), value), kSlopeTolerance);
    if (!norm.centred) continue;
    EXPECT_NEAR(got.dbias.at(0, i), test::slope(at.bias.at(0, i), value), kSlopeTolerance);
  }
}

TEST(NormBackward, ReferencesAreTheSlopesOfTheForwardReferences) {
  expect_slopes(kLayer, {2, 7, 1, 0.1f});
  expect_slopes(kRms, {2, 7, 1, 0.1f});
  expect_slopes(kRms, {2, 5, 3, 0.1f});
}

}  // namespace
}  // namespace vig
