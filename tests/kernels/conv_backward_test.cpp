#include "vig/kernels/backward/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/conv.h"
#include "vig/kernels/reference/conv_backward.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  int64_t batch;
  ConvGrid grid;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = -1;  // kernel / 2

  Windows windows() const {
    return Windows::over(grid, kernel, stride, padding < 0 ? kernel / 2 : padding);
  }
  int64_t in_rows() const { return batch * grid.height * grid.width; }
  int64_t rows() const { return batch * windows().height * windows().width; }
  int64_t area() const { return kernel * kernel; }
  std::string name() const {
    return std::to_string(batch) + " x " + std::to_string(grid.height) + " x " +
           std::to_string(grid.width) + " x " + std::to_string(grid.channels) + ", kernel " +
           std::to_string(kernel) + ", stride " + std::to_string(stride);
  }
};

struct Depthwise {
  explicit Depthwise(const Case& c)
      : shape(c),
        in(c.in_rows(), c.grid.channels, 0, 1),
        weight(c.grid.channels, c.area()),
        dy(c.rows(), c.grid.channels, 3, 2) {
    in.noise(static_cast<uint32_t>(c.in_rows() * 100 + c.grid.channels));
    weight.noise(7);
    dy.noise(8);
  }
  // Begins with something: it is added to.
  Sheet dtaps() const { return Sheet(shape.area(), shape.grid.channels, 0, 1).noise(9); }
  // Without gaps.
  Sheet dense_dy() const {
    Sheet dense(dy.rows(), dy.width());
    for (int64_t r = 0; r < dy.rows(); ++r) {
      for (int64_t i = 0; i < dy.width(); ++i) dense.at(r, i) = dy.at(r, i);
    }
    return dense;
  }
  DepthwiseWeightArgs args(Sheet& dtaps, int64_t first, int64_t last) const {
    return {in.data(), shape.grid,  shape.windows(), first, last, dy.data() + first * dy.stride,
            dy.stride, dtaps.data()};
  }

  Case shape;
  Sheet in, weight, dy;
};

// A sum of n independent terms of deviation s grows to 4 s sqrt n, so that an addition is wrong by
// 6e-8 of that; n such errors are again a random walk: 2.4e-7 s n, and the rounding of the result.
double rounding_tolerance(int64_t terms, double deviation) {
  return 2.4e-7 * deviation * static_cast<double>(terms) + 2e-7;
}

void expect_weight_reference(const Case& c) {
  const Depthwise conv(c);
  Sheet slow = conv.dtaps();
  reference::depthwise_weight_backward(conv.args(slow, 0, c.rows()));
  for (const int64_t run : {c.rows(), int64_t{1}, int64_t{3}, int64_t{11}}) {
    Sheet fast = conv.dtaps();
    for (int64_t first = 0; first < c.rows(); first += run) {
      depthwise_weight_backward(conv.args(fast, first, std::min(c.rows(), first + run)));
    }
    ASSERT_LE(test::distance(fast, slow), rounding_tolerance(c.rows(), 1.0 / 3.0))
        << c.name() << " by " << run;
    ASSERT_TRUE(fast.gaps_untouched()) << c.name();
  }
}

void expect_input_reference(const Case& c) {
  const Depthwise conv(c);
  const Sheet dy = conv.dense_dy();
  Sheet taps(c.area(), c.grid.channels);
  Sheet fast(c.in_rows(), c.grid.channels, 2, 1), slow(c.in_rows(), c.grid.channels);
  DepthwiseInputArgs args{dy.data(), c.grid,      c.windows(), nullptr,
                          0,         c.in_rows(), slow.data(), slow.stride};
  reference::depthwise_input_backward(conv.weight.data(), c.batch, args);
  depthwise_taps(conv.weight.data(), c.grid.channels, c.kernel, taps.data());
  args.taps = taps.data();
  args.dx_stride = fast.stride;
  for (int64_t first = 0; first < c.in_rows(); first += 7) {
    args.first_row = first;
    args.last_row = std::min(c.in_rows(), first + 7);
    args.dx = fast.data() + first * fast.stride;
    depthwise_input_backward(args);
  }
  ASSERT_LE(test::distance(fast, slow), 2e-6) << c.name();  // as the forward kernel
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
  if (c.stride > 1) return;
  depthwise_taps_flipped(conv.weight.data(), c.grid.channels, c.kernel, taps.data());
  const Windows w = c.windows();
  depthwise_conv({dy.data(),
                  {w.height, w.width, c.grid.channels},
                  flipped_windows(w, c.grid),
                  taps.data(),
                  nullptr,
                  Elementwise::kIdentity,
                  0,
                  c.in_rows(),
                  fast.data(),
                  fast.stride});
  ASSERT_LE(test::distance(fast, slow), 2e-6) << c.name() << ", flipped";
}

class ConvBackwardOnTarget : public test::OnTarget {};

TEST_P(ConvBackwardOnTarget, DepthwiseEqualsReference) {
  for (int64_t channels = 0; channels <= 35; ++channels) {
    expect_weight_reference({2, {4, 5, channels}});
    expect_input_reference({2, {4, 5, channels}});
  }
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t height : {1, 2, 3, 6}) {
      for (const int64_t width : {1, 2, 3, 4, 7, 13}) {
        expect_weight_reference({2, {height, width, 19}, kernel});
        expect_input_reference({2, {height, width, 19}, kernel});
      }
    }
  }
  expect_weight_reference({1, {14, 14, 192}});
  for (const int64_t kernel : {1, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel - 1}) {
        for (const ConvGrid& grid : {ConvGrid{7, 8, 19}, ConvGrid{9, 7, 35}}) {
          expect_weight_reference({2, grid, kernel, stride, padding});
          expect_input_reference({2, grid, kernel, stride, padding});
        }
      }
    }
  }
}

// A run's own sums come first, so that many lines add few roundings: a grid of 3136 positives.
TEST_P(ConvBackwardOnTarget, LargeGridsStayExact) {
  Depthwise conv({1, {56, 56, 5}});
  conv.in.noise(1, 0.0f, 1.0f);
  conv.dy.noise(2, 0.0f, 1.0f);
  Sheet fast = conv.dtaps(), slow = conv.dtaps();
  depthwise_weight_backward(conv.args(fast, 0, conv.shape.rows()));
  reference::depthwise_weight_backward(conv.args(slow, 0, conv.shape.rows()));
  // Sums of 780: 56 runs of 56 terms, a random walk of roundings of up to 3e-5.
  EXPECT_LE(test::distance(fast, slow), 2e-4);
}

struct PatchCase {
  ConvGrid grid;
  int64_t kernel, stride, padding;

  Windows windows() const { return Windows::over(grid, kernel, stride, padding); }
  int64_t in_rows() const { return 2 * grid.height * grid.width; }
  int64_t out_rows() const { return 2 * windows().positions(); }
  int64_t patch() const { return kernel * kernel * grid.channels; }
  bool possible() const {
    return grid.height + 2 * padding >= kernel && grid.width + 2 * padding >= kernel;
  }
};

ScatterArgs arguments(const PatchCase& c, const Sheet& patches, Sheet& out, int64_t first,
                      int64_t last) {
  ScatterArgs args;
  args.patches = patches.data();
  args.patch_stride = patches.stride;
  args.grid = c.grid;
  args.windows = c.windows();
  args.first_row = first;
  args.last_row = last;
  args.out = out.data() + first * out.stride;
  args.out_stride = out.stride;
  return args;
}

void expect_scatter_reference(const PatchCase& c) {
  Sheet patches(c.out_rows(), c.patch(), 3, 1);
  patches.noise(5);
  Sheet fast(c.in_rows(), c.grid.channels, 2, 1), parts = fast, slow = fast;
  reference::scatter_patches(2, arguments(c, patches, slow, 0, c.in_rows()));
  scatter_patches(arguments(c, patches, fast, 0, c.in_rows()));
  ASSERT_LE(test::distance(fast, slow), rounding_tolerance(c.kernel * c.kernel, 0.58))
      << c.kernel << " " << c.stride << " " << c.padding;
  ASSERT_TRUE(fast.gaps_untouched());
  for (int64_t first = 0; first < c.in_rows(); first += 5) {
    const int64_t last = std::min(c.in_rows(), first + 5);
    scatter_patches(arguments(c, patches, parts, first, last));
  }
  ASSERT_TRUE(test::same_bits(fast, parts));
  ASSERT_TRUE(parts.gaps_untouched());
}

TEST_P(ConvBackwardOnTarget, ScatteredPatchesEqualReference) {
  for (const int64_t kernel : {1, 2, 3, 4, 7, 16}) {
    for (const int64_t stride : {1, 2, 4, 16}) {
      for (const int64_t padding : {0, 1, 3}) {
        for (const ConvGrid& grid : {ConvGrid{16, 16, 3}, ConvGrid{5, 9, 2}, ConvGrid{17, 1, 5}}) {
          const PatchCase c = {grid, kernel, stride, padding};
          if (padding <= kernel / 2 && c.possible()) expect_scatter_reference(c);
        }
      }
    }
  }
  for (int64_t channels = 0; channels <= 35; ++channels) {
    expect_scatter_reference({{5, 4, channels}, 3, 2, 1});
  }
}

VIG_ON_EVERY_TARGET(ConvBackwardOnTarget);

// <gather(x), p> = <x, scatter(p)> defines the adjoint.
TEST(ConvBackward, ScatterReferenceIsTheAdjointOfTheGatherReference) {
  for (const PatchCase& c : {PatchCase{{6, 5, 2}, 3, 2, 1}, PatchCase{{7, 7, 1}, 2, 3, 0}}) {
    Sheet x(c.in_rows(), c.grid.channels), p(c.out_rows(), c.patch());
    x.noise(1);
    p.noise(2);
    Sheet patches(c.out_rows(), c.patch()), back(c.in_rows(), c.grid.channels);
    reference::gather_patches(
        {x.data(), c.grid, c.windows(), 0, c.out_rows(), patches.data(), patches.stride});
    reference::scatter_patches(2, arguments(c, p, back, 0, c.in_rows()));
    double left = 0.0, right = 0.0;
    for (int64_t r = 0; r < c.out_rows(); ++r) {
      for (int64_t i = 0; i < c.patch(); ++i) {
        left += static_cast<double>(patches.at(r, i)) * p.at(r, i);
      }
    }
    for (int64_t r = 0; r < c.in_rows(); ++r) {
      for (int64_t i = 0; i < c.grid.channels; ++i) {
        right += static_cast<double>(x.at(r, i)) * back.at(r, i);
      }
    }
    EXPECT_NEAR(left, right, 2e-6);  // 140 values of back, rounded to float
  }
}

TEST(ConvBackward, DepthwiseReferencesAreTheSlopesOfTheForwardReference) {
  for (const Case& c : {Case{2, {3, 4, 2}, 1}, Case{2, {3, 4, 2}, 3}, Case{2, {3, 4, 2}, 5},
                        Case{2, {5, 4, 2}, 3, 2, 1}, Case{1, {6, 7, 2}, 3, 3, 0}}) {
    Depthwise conv(c);
    const Sheet dy = conv.dense_dy();
    Sheet dx(c.in_rows(), c.grid.channels), dtaps(c.area(), c.grid.channels);
    dtaps.fill([] { return 0.0f; });
    reference::depthwise_input_backward(
        conv.weight.data(), c.batch,
        {dy.data(), c.grid, c.windows(), nullptr, 0, c.in_rows(), dx.data(), dx.stride});
    reference::depthwise_weight_backward(conv.args(dtaps, 0, c.rows()));
    Sheet dweight(c.grid.channels, c.area());
    patch_weight_inverse(dtaps.data(), 1, c.grid.channels, c.kernel, dweight.data());
    const auto value = [&] {
      Sheet out(c.rows(), c.grid.channels);
      reference::depthwise_conv(conv.weight.data(),
                                {conv.in.data(), c.grid, c.windows(), nullptr, nullptr,
                                 Elementwise::kIdentity, 0, c.rows(), out.data(), out.stride});
      double sum = 0.0;
      for (int64_t r = 0; r < c.rows(); ++r) {
        for (int64_t i = 0; i < c.grid.channels; ++i) {
          sum += static_cast<double>(conv.dy.at(r, i)) * out.at(r, i);
        }
      }
      return sum;
    };
    constexpr double kSlopeTolerance = 3e-5;  // linear: roundings only, see slope.h
    for (int64_t i = 0; i < c.grid.channels; ++i) {
      for (int64_t r = 0; r < c.in_rows(); ++r) {
        EXPECT_NEAR(dx.at(r, i), test::slope(conv.in.at(r, i), value), kSlopeTolerance);
      }
      for (int64_t tap = 0; tap < c.area(); ++tap) {
        EXPECT_NEAR(dweight.at(i, tap), test::slope(conv.weight.at(i, tap), value),
                    kSlopeTolerance);
      }
    }
  }
}

TEST(ConvBackward, PatchWeightInverseInverts) {
  Sheet weight(3, 5 * 4), patches(3, 5 * 4), again(3, 5 * 4);  // [out 3, in 5, 2, 2]
  weight.noise(1);
  patch_weight(weight.data(), 3, 5, 2, patches.data());
  patch_weight_inverse(patches.data(), 3, 5, 2, again.data());
  EXPECT_TRUE(test::same_bits(weight, again));
  depthwise_taps(weight.data(), 15, 2, patches.data());
  patch_weight_inverse(patches.data(), 1, 15, 2, again.data());
  EXPECT_TRUE(test::same_bits(weight, again));
}

}  // namespace
}  // namespace vig
