#include "vig/kernels/backward/conv_dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/conv_dense.h"
#include "vig/kernels/reference/conv_dense_backward.h"

namespace vig {
namespace {

using test::Sheet;

constexpr int64_t kBatch = 2;

ConvShape layer(ConvGrid in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                int64_t groups = 1) {
  return {in, Windows::over(in, kernel, stride, padding), out, groups};
}

std::string name_of(const ConvShape& s) {
  return std::to_string(s.in.height) + " x " + std::to_string(s.in.width) + " x " +
         std::to_string(s.in.channels) + " to " + std::to_string(s.out_channels) + ", kernel " +
         std::to_string(s.windows.kernel) + ", stride " + std::to_string(s.windows.stride) +
         ", padding " + std::to_string(s.windows.top) + ", groups " + std::to_string(s.groups);
}

struct Conv {
  explicit Conv(const ConvShape& s, int64_t images = kBatch)
      : shape(s),
        batch(images),
        in(images * s.in.height * s.in.width, s.in.channels, 0, 1),
        weight(s.out_channels, s.taps()),
        dy(rows(), s.out_channels, 0, 1) {
    in.noise(1);
    weight.noise(2);
    dy.noise(3);
  }
  int64_t rows() const { return batch * shape.positions(); }
  ConvInputBackwardArgs input_args(Sheet& dx) const {
    ConvInputBackwardArgs args;
    args.shape = shape;
    args.dy = dy.data();
    args.last_image = batch;
    args.dx = dx.data();
    return args;
  }
  ConvWeightBackwardArgs weight_args(Sheet& dweight) const {
    ConvWeightBackwardArgs args;
    args.shape = shape;
    args.in = in.data();
    args.dy = dy.data();
    args.last_row = rows();
    args.dweight = dweight.data();
    return args;
  }
  Sheet dx() const { return Sheet(in.rows(), shape.in.channels, 0, 1); }
  // Begins with something: it is added to.
  Sheet dweight() const { return Sheet(shape.out_channels, shape.taps(), 0, 1).noise(4); }

  ConvShape shape;
  int64_t batch;
  Sheet in, weight, dy;
};

void expect_reference(const ConvShape& s) {
  const Conv conv(s);
  Sheet fast = conv.dx(), slow = conv.dx(), parts = conv.dx();
  Buffer panels(conv_input_backward_floats(s) * sizeof(float));
  std::vector<float> scratch(conv_input_backward_scratch(s));
  conv_input_backward_pack(s, conv.weight.data(), panels.floats());
  ConvInputBackwardArgs input = conv.input_args(fast);
  input.panels = panels.floats();
  input.scratch = scratch.data();
  conv_input_backward(input);
  reference::conv_input_backward(conv.weight.data(), conv.input_args(slow));
  // Terms below 1 of deviation 1/3: see the tolerance of depthwise gradients.
  const auto tolerance = [](int64_t terms) { return 8e-8 * static_cast<double>(terms) + 1e-6; };
  ASSERT_LE(test::distance(fast, slow), tolerance(s.area() * s.group_outputs())) << name_of(s);
  ASSERT_TRUE(fast.gaps_untouched());
  input.dx = parts.data();
  for (int64_t i = kBatch; i-- > 0;) {
    input.first_image = i;
    input.last_image = i + 1;
    conv_input_backward(input);
    if (i + 1 < kBatch) continue;  // threads share dx: others' images are left alone
    const int64_t pixels = s.in.height * s.in.width;
    ASSERT_TRUE(test::wrote_only(parts, i * pixels, kBatch * pixels)) << name_of(s);
  }
  ASSERT_TRUE(test::same_bits(fast, parts)) << name_of(s);

  Sheet dw = conv.dweight(), dw_slow = conv.dweight(), dw_parts = conv.dweight();
  scratch.resize(conv_weight_backward_scratch(s));
  ConvWeightBackwardArgs weights = conv.weight_args(dw);
  weights.scratch = scratch.data();
  conv_weight_backward(weights);
  reference::conv_weight_backward(conv.weight_args(dw_slow));
  ASSERT_LE(test::distance(dw, dw_slow), tolerance(conv.rows())) << name_of(s);
  ASSERT_TRUE(dw.gaps_untouched());
  weights.dweight = dw_parts.data();
  for (int64_t first = 0; first < conv.rows(); first += 7) {
    weights.first_row = first;
    weights.last_row = std::min(conv.rows(), first + 7);
    conv_weight_backward(weights);
  }
  ASSERT_TRUE(test::same_bits(dw, dw_parts)) << name_of(s);
}

class ConvDenseBackwardOnTarget : public test::OnTarget {};

TEST_P(ConvDenseBackwardOnTarget, EqualsReference) {
  for (const int64_t kernel : {1, 2, 3, 5, 7}) {
    for (const int64_t stride : {1, 2, 4}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel}) {
        for (const auto& [height, width] : {std::pair(1, 1), std::pair(2, 5), std::pair(9, 11)}) {
          if (height + 2 * padding < kernel || width + 2 * padding < kernel) continue;
          expect_reference(layer({height, width, 3}, 5, kernel, stride, padding));
          expect_reference(layer({height, width, 34}, 18, kernel, stride, padding, 2));
        }
      }
    }
  }
  expect_reference({{6, 7, 20}, {5, 2, 1, 2, 3, 4}, 9, 1});  // padded differently on each side
  expect_reference({{6, 7, 20}, {4, 1, 1, 2, 6, 7}, 9, 1});
  expect_reference(layer({18, 17, 64}, 40, 3, 1, 1));  // more rows than a block of the sum
  expect_reference(layer({7, 7, 20}, 33, 7, 1, 0));    // a window as large as the grid
  expect_reference(layer({2, 2, 35}, 5, 2, 2, 0));
}

// A window as large as the grid makes images the rows of a product, of which some are taken at a
// time: fewer than these.
TEST_P(ConvDenseBackwardOnTarget, ManyImagesOfOneWindow) {
  constexpr int64_t kImages = 250, kPixels = 4;
  const Conv conv(layer({2, 2, 3}, 5, 2, 2, 0), kImages);
  Sheet fast = conv.dx(), slow = conv.dx(), part = conv.dx();
  Buffer panels(conv_input_backward_floats(conv.shape) * sizeof(float));
  conv_input_backward_pack(conv.shape, conv.weight.data(), panels.floats());
  ConvInputBackwardArgs args = conv.input_args(fast);
  args.panels = panels.floats();
  conv_input_backward(args);
  reference::conv_input_backward(conv.weight.data(), conv.input_args(slow));
  EXPECT_LE(test::distance(fast, slow), 2e-6);
  args.dx = part.data();
  args.first_image = 100;
  args.last_image = 130;
  conv_input_backward(args);
  EXPECT_TRUE(test::wrote_only(part, 100 * kPixels, 130 * kPixels));
  for (int64_t r = 100 * kPixels; r < 130 * kPixels; ++r) EXPECT_EQ(part.at(r, 2), fast.at(r, 2));
}

VIG_ON_EVERY_TARGET(ConvDenseBackwardOnTarget);

TEST(ConvDenseBackward, ReferencesAreTheSlopesOfTheForwardReference) {
  for (const ConvShape& s : {layer({4, 3, 2}, 3, 3, 1, 1), layer({5, 4, 4}, 2, 3, 2, 1, 2),
                             layer({4, 4, 1}, 2, 2, 2, 0)}) {
    Conv conv(s);
    Sheet dx = conv.dx(), dweight(s.out_channels, s.taps());
    dweight.fill([] { return 0.0f; });
    reference::conv_input_backward(conv.weight.data(), conv.input_args(dx));
    reference::conv_weight_backward(conv.weight_args(dweight));
    const auto value = [&] {
      Sheet out(conv.rows(), s.out_channels);
      DenseConvArgs args;
      args.shape = s;
      args.in = conv.in.data();
      args.last_row = conv.rows();
      args.out = out.data();
      args.out_stride = out.stride;
      reference::dense_conv(conv.weight.data(), nullptr, args);
      double sum = 0.0;
      for (int64_t r = 0; r < conv.rows(); ++r) {
        for (int64_t o = 0; o < s.out_channels; ++o) {
          sum += static_cast<double>(conv.dy.at(r, o)) * out.at(r, o);
        }
      }
      return sum;
    };
    constexpr double kSlopeTolerance = 3e-5;  // linear: roundings only, see slope.h
    for (int64_t r = 0; r < dx.rows(); ++r) {
      for (int64_t c = 0; c < s.in.channels; ++c) {
        EXPECT_NEAR(dx.at(r, c), test::slope(conv.in.at(r, c), value), kSlopeTolerance);
      }
    }
    const int64_t area = s.area(), inputs = s.group_inputs();
    for (int64_t o = 0; o < s.out_channels; ++o) {
      for (int64_t c = 0; c < inputs; ++c) {
        for (int64_t tap = 0; tap < area; ++tap) {
          EXPECT_NEAR(dweight.at(o, tap * inputs + c),
                      test::slope(conv.weight.at(o, c * area + tap), value), kSlopeTolerance);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vig
