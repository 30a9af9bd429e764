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

struct Case {
  int64_t batch;
  ConvGrid grid;
  int64_t kernel = 3;
  Elementwise function = Elementwise::kIdentity;
  int64_t stride = 1;
  int64_t padding = -1;
  bool bias = false;

  int64_t pad() const { return padding < 0 ? kernel / 2 : padding; }
  int64_t out(int64_t size) const { return (size + 2 * pad() - kernel) / stride + 1; }
  int64_t in_rows() const { return batch * grid.height * grid.width; }
  int64_t rows() const { return batch * out(grid.height) * out(grid.width); }
  std::string name() const {
    return std::to_string(batch) + " x " + std::to_string(grid.height) + " x " +
           std::to_string(grid.width) + " x " + std::to_string(grid.channels) + ", kernel " +
           std::to_string(kernel) + ", stride " + std::to_string(stride) + ", padding " +
           std::to_string(pad());
  }
};

struct Depthwise {
  explicit Depthwise(const Case& c)
      : shape(c),
        in(c.in_rows(), c.grid.channels, 0, 1),
        weight(c.grid.channels, c.kernel * c.kernel),
        taps(c.kernel * c.kernel, c.grid.channels, 0, 1),
        bias(1, c.grid.channels, 0, 1) {
    in.noise(static_cast<uint32_t>(c.rows() * 100 + c.grid.channels));
    weight.noise(7);
    bias.noise(6);
    depthwise_taps(weight.data(), c.grid.channels, c.kernel, taps.data());
  }
  DepthwiseConvArgs args(Sheet& out, int64_t first, int64_t last) {
    DepthwiseConvArgs args;
    args.in = in.data();
    args.grid = shape.grid;
    args.kernel = shape.kernel;
    args.taps = taps.data();
    args.function = shape.function;
    args.first_row = first;
    args.last_row = last;
    args.out = out.data() + first * out.stride;
    args.out_stride = out.stride;
    args.stride = shape.stride;
    args.padding = shape.padding;
    if (shape.bias) args.bias = bias.data();
    return args;
  }
  Sheet output() const { return Sheet(shape.rows(), shape.grid.channels, 5, 3); }

  Case shape;
  Sheet in, weight, taps, bias;
};

void expect_twin(const Case& c) {
  Depthwise conv(c);
  Sheet fast = conv.output(), slow = conv.output();
  depthwise_conv(conv.args(fast, 0, c.rows()));
  reference::depthwise_conv(conv.weight.data(), conv.args(slow, 0, c.rows()));
  ASSERT_LE(test::distance(fast, slow), kTolerance) << c.name();
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
}

class ConvOnTarget : public test::OnTarget {};

TEST_P(ConvOnTarget, DepthwiseEqualsTwin) {
  for (int64_t channels = 0; channels <= 35; ++channels) {
    expect_twin(
        {2, {4, 5, channels}, 3, channels % 2 == 0 ? Elementwise::kSilu : Elementwise::kIdentity});
  }
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t height : {1, 2, 3, 6}) {
      for (const int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13}) {
        expect_twin({2, {height, width, 19}, kernel, Elementwise::kSilu});
      }
    }
  }
  expect_twin({1, {14, 14, 192}, 3, Elementwise::kSilu});
}

TEST_P(ConvOnTarget, DepthwiseWithStrideAndBias) {
  int turn = 0;
  for (const int64_t kernel : {1, 2, 3, 5, 7, 11}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel}) {
        for (const auto& [height, width] : {std::pair(1, 1), std::pair(6, 3), std::pair(9, 19)}) {
          if (height + 2 * padding < kernel || width + 2 * padding < kernel) continue;
          for (const int64_t channels : {1, 3, 17, 64}) {
            const Elementwise function = kElementwise[turn++ % std::size(kElementwise)];
            expect_twin(
                {2, {height, width, channels}, kernel, function, stride, padding, turn % 2 == 0});
          }
        }
      }
    }
  }
  // Lines and columns that do not fit into one block.
  expect_twin({1, {9, 700, 5}, 7, Elementwise::kIdentity, 1, 3, true});
  expect_twin({1, {70, 70, 9}, 5, Elementwise::kSilu, 1, 2, true});
  expect_twin({1, {40, 40, 3}, 31, Elementwise::kIdentity, 1, 15, true});
}

// Threads take runs of rows that begin and end anywhere, in the middle of a picture too.
TEST_P(ConvOnTarget, DepthwiseBitsDoNotDependOnTheSplit) {
  for (const int64_t channels : {16, 24, 37}) {
    for (const Elementwise function : kElementwise) {
      for (const auto& [kernel, stride] : {std::pair(3, 1), std::pair(5, 1), std::pair(3, 2)}) {
        Depthwise conv({3, {5, 7, channels}, kernel, function, stride, -1, true});
        const int64_t rows = conv.shape.rows();
        Sheet whole = conv.output();
        depthwise_conv(conv.args(whole, 0, rows));
        for (const int64_t run : {1, 2, 3, 5, 8, 34, 36, 64}) {
          Sheet parts = conv.output();
          for (int64_t first = 0; first < rows; first += run) {
            depthwise_conv(conv.args(parts, first, std::min(rows, first + run)));
          }
          ASSERT_TRUE(test::same_bits(whole, parts)) << conv.shape.name() << " by " << run;
          ASSERT_TRUE(parts.gaps_untouched());
        }
      }
    }
  }
}

TEST(Patches, EqualTwinWholeAndInRuns) {
  for (const int64_t kernel : {1, 2, 3, 4, 7, 16}) {
    for (const int64_t stride : {1, 2, 4, 16}) {
      for (const int64_t padding : {0, 1, 3}) {
        for (const ConvGrid& grid : {ConvGrid{16, 16, 3}, ConvGrid{5, 9, 2}, ConvGrid{17, 1, 5}}) {
          if (padding > kernel / 2 || grid.height + 2 * padding < kernel ||
              grid.width + 2 * padding < kernel) {
            continue;
          }
          PatchArgs args;
          args.grid = grid;
          args.kernel = kernel;
          args.stride = stride;
          args.padding = padding;
          args.out_height = (grid.height + 2 * padding - kernel) / stride + 1;
          args.out_width = (grid.width + 2 * padding - kernel) / stride + 1;
          Sheet in(2 * grid.height * grid.width, grid.channels);
          in.noise(5);
          args.in = in.data();
          const int64_t rows = 2 * args.out_height * args.out_width;
          Sheet fast(rows, kernel * kernel * grid.channels, 3, 1), slow = fast;
          args.out_stride = fast.stride;
          for (int64_t first = 0; first < rows; first += 5) {
            args.first_row = first;
            args.last_row = std::min(rows, first + 5);
            args.out = fast.data() + first * fast.stride;
            gather_patches(args);
          }
          args.first_row = 0;
          args.last_row = rows;
          args.out = slow.data();
          reference::gather_patches(args);
          ASSERT_TRUE(test::same_bits(fast, slow)) << kernel << " " << stride << " " << padding;
          ASSERT_TRUE(fast.gaps_untouched());
        }
      }
    }
  }
}

TEST(Patches, WeightsFollowTheOrderOfPatches) {
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
