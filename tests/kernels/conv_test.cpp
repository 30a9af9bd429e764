#include "vig/kernels/conv.h"

#include <gtest/gtest.h>

#include <string>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/conv.h"

namespace vig {
namespace {

using test::Sheet;

constexpr double kTolerance = 2e-6;  // up to 49 products below 1, each rounded to 6e-8

// Of the largest of many thousand sums: see rounding_tolerance in conv_backward_test.cpp.
double rounding_tolerance(int64_t terms) { return 8e-8 * static_cast<double>(terms) + 2e-7; }

struct Case {
  int64_t batch;
  ConvGrid grid;
  int64_t kernel = 3;
  Elementwise function = Elementwise::kIdentity;
  int64_t stride = 1;
  int64_t padding = -1;  // kernel / 2
  bool bias = false;

  Windows windows() const {
    return Windows::over(grid, kernel, stride, padding < 0 ? kernel / 2 : padding);
  }
  int64_t in_rows() const { return batch * grid.height * grid.width; }
  int64_t rows() const { return batch * windows().height * windows().width; }
  std::string name() const {
    return std::to_string(batch) + " x " + std::to_string(grid.height) + " x " +
           std::to_string(grid.width) + " x " + std::to_string(grid.channels) + ", kernel " +
           std::to_string(kernel) + ", stride " + std::to_string(stride) + ", padding " +
           std::to_string(padding);
  }
};

struct Depthwise {
  explicit Depthwise(const Case& c)
      : shape(c),
        in(c.in_rows(), c.grid.channels, 0, 1),
        weight(c.grid.channels, c.kernel * c.kernel),
        taps(c.kernel * c.kernel, c.grid.channels, 0, 1),
        bias(1, c.grid.channels, 0, 2) {
    in.noise(static_cast<uint32_t>(c.in_rows() * 100 + c.grid.channels));
    weight.noise(7);
    bias.noise(8);
    depthwise_taps(weight.data(), c.grid.channels, c.kernel, taps.data());
  }
  DepthwiseConvArgs args(Sheet& out, int64_t first, int64_t last) {
    return {in.data(),
            shape.grid,
            shape.windows(),
            taps.data(),
            shape.bias ? bias.data() : nullptr,
            shape.function,
            first,
            last,
            out.data() + first * out.stride,
            out.stride};
  }
  Sheet output() const { return Sheet(shape.rows(), shape.grid.channels, 5, 3); }

  Case shape;
  Sheet in, weight, taps, bias;
};

void expect_reference(const Case& c, double tolerance = kTolerance) {
  Depthwise conv(c);
  Sheet fast = conv.output(), slow = conv.output();
  depthwise_conv(conv.args(fast, 0, c.rows()));
  reference::depthwise_conv(conv.weight.data(), conv.args(slow, 0, c.rows()));
  ASSERT_LE(test::distance(fast, slow), tolerance) << c.name();
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
}

class ConvOnTarget : public test::OnTarget {};

TEST_P(ConvOnTarget, DepthwiseEqualsReference) {
  for (int64_t channels = 0; channels <= 35; ++channels) {
    expect_reference(
        {2, {4, 5, channels}, 3, channels % 2 == 0 ? Elementwise::kSilu : Elementwise::kIdentity});
  }
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t height : {1, 2, 3, 6}) {
      for (const int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
        expect_reference({2, {height, width, 19}, kernel, Elementwise::kSilu});
      }
    }
  }
  expect_reference({1, {14, 14, 192}, 3, Elementwise::kSilu});
}

TEST_P(ConvOnTarget, DepthwiseOfAnyStridePaddingAndBiasEqualsReference) {
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel - 1}) {
        for (const ConvGrid& grid : {ConvGrid{7, 8, 19}, ConvGrid{9, 7, 35}}) {
          expect_reference({2, grid, kernel, Elementwise::kRelu, stride, padding, true});
          expect_reference({2, grid, kernel, Elementwise::kIdentity, stride, padding, false});
        }
      }
    }
  }
  for (const int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {  // the fast path, with a bias
    expect_reference({2, {3, width, 37}, 3, Elementwise::kIdentity, 1, 1, true});
  }
  for (const int64_t stride : {2, 3, 5}) {  // several strips of a line
    for (const int64_t width : {18, 35, 51, 90}) {
      expect_reference({1, {8, width, 19}, 3, Elementwise::kIdentity, stride, 1, true});
      expect_reference({1, {8, width, 7}, 5, Elementwise::kSilu, stride, 2, false});
    }
  }
  // Lines and columns that do not fit into one block.
  expect_reference({1, {9, 700, 5}, 7, Elementwise::kIdentity, 1, 3, true}, rounding_tolerance(49));
  expect_reference({1, {70, 70, 9}, 5, Elementwise::kSilu, 1, 2, true}, rounding_tolerance(25));
  expect_reference({1, {40, 40, 3}, 31, Elementwise::kIdentity, 1, 15, true},
                   rounding_tolerance(961));
  expect_reference({2, {12, 11, 17}, 2, Elementwise::kGelu, 2, 2, true});
}

// What is padded behind the grid follows from the number of windows.
TEST_P(ConvOnTarget, DepthwisePaddingMayDifferOnEachSide) {
  Depthwise conv({1, {6, 5, 11}, 5, Elementwise::kIdentity, 2, 2, true});
  const Windows windows{5, 2, 1, 2, 3, 3};
  Sheet fast(9, 11, 2, 1), slow = fast;
  for (Sheet* out : {&fast, &slow}) {
    DepthwiseConvArgs args = conv.args(*out, 0, 9);
    args.windows = windows;
    if (out == &fast) {
      depthwise_conv(args);
    } else {
      reference::depthwise_conv(conv.weight.data(), args);
    }
  }
  EXPECT_LE(test::distance(fast, slow), kTolerance);
}

// Threads take runs of rows that begin and end anywhere, in the middle of an image too.
TEST_P(ConvOnTarget, DepthwiseBitsDoNotDependOnTheSplit) {
  for (const int64_t channels : {16, 24, 37}) {
    for (const Elementwise function : kElementwise) {
      const int64_t stride = 1 + channels % 2;
      const int64_t kernel = function == Elementwise::kGelu ? 5 : 3;
      Depthwise conv(
          {3, {5, stride == 1 ? 7 : 37, channels}, kernel, function, stride, 1, channels == 24});
      const int64_t rows = conv.shape.rows();
      Sheet whole = conv.output();
      depthwise_conv(conv.args(whole, 0, rows));
      for (const int64_t run : {1, 2, 3, 5, 8, 34, 36, 64}) {
        Sheet parts = conv.output();
        for (int64_t first = 0; first < rows; first += run) {
          const int64_t last = std::min(rows, first + run);
          depthwise_conv(conv.args(parts, first, last));
          Sheet alone = conv.output();
          depthwise_conv(conv.args(alone, first, last));
          ASSERT_TRUE(test::wrote_only(alone, first, last)) << conv.shape.name() << " by " << run;
        }
        ASSERT_TRUE(test::same_bits(whole, parts)) << conv.shape.name() << " by " << run;
        ASSERT_TRUE(parts.gaps_untouched());
      }
    }
  }
}

TEST(Conv, PatchWeightPutsChannelsLast) {
  Sheet weight(2, 3 * 4);  // [out 2, in 3, 2, 2]
  int count = 0;
  weight.fill([&] { return static_cast<float>(count++); });
  Sheet to(2, 4 * 3);
  patch_weight(weight.data(), 2, 3, 2, to.data());
  for (int64_t o = 0; o < 2; ++o) {
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(to.at(o, i * 3 + c), weight.at(o, c * 4 + i));
    }
  }
}

VIG_ON_EVERY_TARGET(ConvOnTarget);

}  // namespace
}  // namespace vig
