#include "vig/kernels/conv_dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/reference/conv.h"
#include "vig/kernels/reference/conv_dense.h"

namespace vig {
namespace {

using test::Sheet;

ConvShape layer(ConvGrid in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                int64_t groups = 1) {
  return {in, Windows::over(in, kernel, stride, padding), out, groups};
}

struct Case {
  ConvShape shape;
  int64_t batch = 2;
  Elementwise function = Elementwise::kIdentity;
  bool residual = false;
  bool bias = true;

  int64_t rows() const { return batch * shape.positions(); }
  std::string name() const {
    const ConvShape& s = shape;
    return std::to_string(s.in.height) + " x " + std::to_string(s.in.width) + " x " +
           std::to_string(s.in.channels) + " to " + std::to_string(s.out_channels) + ", kernel " +
           std::to_string(s.windows.kernel) + ", stride " + std::to_string(s.windows.stride) +
           ", padding " + std::to_string(s.windows.top) + ", groups " + std::to_string(s.groups) +
           ", " + elementwise_name(function) + (residual ? " + residual" : "");
  }
};

// Operands of one case. Residual and output have gaps and start at odd floats.
struct Conv {
  explicit Conv(const Case& c)
      : test_case(c),
        in(c.batch * c.shape.in.height * c.shape.in.width, c.shape.in.channels, 0, 1),
        weight(c.shape.out_channels, c.shape.taps()),
        bias(1, c.shape.out_channels),
        residual(c.rows(), c.shape.out_channels, 5, 3),
        panels(conv_packed_floats(c.shape) * sizeof(float)) {
    const float reach = 1.0f / std::sqrt(static_cast<float>(c.shape.taps()));
    in.noise(static_cast<uint32_t>(c.shape.taps() * 100 + c.shape.out_channels));
    weight.noise(2, -reach, reach);
    bias.noise(3);
    residual.noise(4);
    conv_pack(c.shape, weight.data(), c.bias ? bias.data() : nullptr, panels.floats());
  }
  Sheet output() const { return Sheet(test_case.rows(), test_case.shape.out_channels, 7, 5); }
  DenseConvArgs args(Sheet& out, int64_t first, int64_t last) const {
    DenseConvArgs args;
    args.shape = test_case.shape;
    args.in = in.data();
    args.panels = panels.floats();
    args.function = test_case.function;
    args.first_row = first;
    args.last_row = last;
    args.out = out.data() + first * out.stride;
    args.out_stride = out.stride;
    if (test_case.residual) {
      args.residual = residual.data() + first * residual.stride;
      args.residual_stride = residual.stride;
    }
    return args;
  }
  Sheet whole() const {
    Sheet out = output();
    dense_conv(args(out, 0, test_case.rows()));
    return out;
  }

  Case test_case;
  Sheet in, weight, bias, residual;
  Buffer panels;
};

void expect_reference(const Case& c) {
  const Conv conv(c);
  const Sheet fast = conv.whole();
  Sheet slow = conv.output();
  reference::dense_conv(conv.weight.data(), c.bias ? conv.bias.data() : nullptr,
                        conv.args(slow, 0, c.rows()));
  // Sums of order 1: a random walk of roundings of 6e-8, of which the largest of ten thousand lies
  // 4.5 deviations away.
  const double tolerance = 1e-6 + 2.7e-7 * std::sqrt(static_cast<double>(c.shape.taps()));
  ASSERT_LE(test::distance(fast, slow), tolerance) << c.name();
  ASSERT_TRUE(fast.gaps_untouched()) << c.name();
}

// The bits of patches and product, which models of before are made of.
void expect_patches_and_product(const Case& c) {
  const Conv conv(c);
  const Sheet fast = conv.whole();
  const ConvShape& s = c.shape;
  Sheet patches(c.rows(), s.taps()), out = conv.output();
  reference::gather_patches(
      {conv.in.data(), s.in, s.windows, 0, c.rows(), patches.data(), patches.stride});
  GemmArgs args;
  args.a = patches.data();
  args.lda = patches.stride;
  args.rows = c.rows();
  args.weight = {conv.panels.floats(), s.out_channels, s.taps(), false};
  args.c = out.data();
  args.ldc = out.stride;
  args.function = c.function;
  if (c.residual) {
    args.residual = conv.residual.data();
    args.ldr = conv.residual.stride;
  }
  gemm(args);
  ASSERT_TRUE(test::same_bits(fast, out)) << c.name();
}

class ConvDenseOnTarget : public test::OnTarget {};

TEST_P(ConvDenseOnTarget, EqualsReferenceAndPatches) {
  int turn = 0;
  for (const int64_t kernel : {1, 2, 3, 4, 5, 7, 11}) {
    for (const int64_t stride : {1, 2, 4}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel}) {
        for (const auto& [height, width] : {std::pair(1, 1), std::pair(2, 5), std::pair(11, 13)}) {
          for (const int64_t channels : {1, 3, 5, 17}) {
            Case c;
            c.shape = layer({height, width, channels}, 5 + turn % 40, kernel, stride, padding);
            if (height + 2 * padding < kernel || width + 2 * padding < kernel) continue;
            c.function = kElementwise[turn % std::size(kElementwise)];
            c.residual = turn % 3 == 0;
            c.bias = turn % 4 != 0;
            ++turn;
            expect_reference(c);
            expect_patches_and_product(c);
          }
        }
      }
    }
  }
}

TEST_P(ConvDenseOnTarget, Groups) {
  for (const int64_t groups : {1, 2, 3, 5}) {
    for (const int64_t inputs : {1, 3, 17, 64}) {
      for (const int64_t outputs : {1, 8, 19, 33}) {
        for (const int64_t kernel : {1, 3, 5}) {
          Case c;
          c.shape = layer({4, 7, groups * inputs}, groups * outputs, kernel, 1 + groups % 2,
                          kernel / 2, groups);
          c.residual = kernel == 3;
          c.function = inputs == 3 ? Elementwise::kSilu : Elementwise::kIdentity;
          expect_reference(c);
        }
      }
    }
  }
}

// More taps than a block of the sum holds, by channels, by the kernel's size, and by both.
TEST_P(ConvDenseOnTarget, LongSums) {
  for (const ConvShape& shape : {layer({5, 4, 700}, 35, 3, 1, 1), layer({3, 3, 2400}, 18, 1, 1, 0),
                                 layer({20, 18, 9}, 6, 16, 4, 3), layer({17, 19, 41}, 33, 11, 2, 5),
                                 layer({18, 18, 3}, 20, 16, 16, 1)}) {
    for (const bool residual : {false, true}) {
      const Case c = {shape, 2, residual ? Elementwise::kGelu : Elementwise::kIdentity, residual};
      expect_reference(c);
      expect_patches_and_product(c);
    }
  }
}

// What is padded behind the map follows from the number of windows.
TEST_P(ConvDenseOnTarget, PaddingMayDifferOnEachSide) {
  for (const int64_t channels : {3, 40}) {
    const Case c = {{{6, 5, channels}, {5, 2, 1, 2, 3, 3}, 20, 1}};
    expect_reference(c);
    expect_patches_and_product(c);
  }
}

// Stems and patch embeddings, and the layers of networks in small.
TEST_P(ConvDenseOnTarget, LayersOfNetworks) {
  for (const ConvShape& shape :
       {layer({37, 41, 3}, 64, 7, 2, 3), layer({33, 32, 3}, 24, 4, 4, 0),
        layer({48, 32, 3}, 40, 16, 16, 0), layer({14, 14, 64}, 64, 3, 1, 1),
        layer({9, 7, 64}, 48, 3, 2, 1), layer({7, 7, 112}, 112, 3, 1, 1, 2),
        layer({8, 8, 64}, 32, 1, 2, 0)}) {
    const Case c = {shape};
    expect_reference(c);
    if (shape.groups == 1) expect_patches_and_product(c);
  }
}

TEST_P(ConvDenseOnTarget, BitsDoNotDependOnRowsAndBlocks) {
  for (const ConvShape& shape :
       {layer({6, 7, 5}, 70, 3, 1, 1), layer({9, 6, 20}, 44, 5, 2, 2, 2),
        layer({5, 5, 300}, 40, 3, 1, 1), layer({15, 15, 3}, 70, 7, 2, 3)}) {
    Case c = {shape, 3, Elementwise::kSilu, true};
    const Conv conv(c);
    const Sheet whole = conv.whole();
    for (const int64_t run : {1, 2, 5, 6, 13, 14, 50}) {
      Sheet parts = conv.output();
      for (int64_t first = 0; first < c.rows(); first += run) {
        const int64_t last = std::min(c.rows(), first + run);
        Sheet alone = conv.output();
        dense_conv(conv.args(alone, first, last));
        ASSERT_TRUE(test::wrote_only(alone, first, last)) << c.name() << " by " << run;
        for (int64_t block = 0; block < conv_blocks(shape); block += 1 + run % 2) {
          DenseConvArgs args = conv.args(parts, first, last);
          args.first_block = block;
          args.last_block = std::min(conv_blocks(shape), block + 1 + run % 2);
          dense_conv(args);
        }
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << c.name() << " by " << run;
      ASSERT_TRUE(parts.gaps_untouched());
    }
  }
}

TEST_P(ConvDenseOnTarget, AddsToItsOwnOutput) {
  const Case c = {layer({6, 5, 400}, 40, 3, 1, 1), 1, Elementwise::kSilu, true};
  Conv conv(c);
  const Sheet whole = conv.whole();
  DenseConvArgs args = conv.args(conv.residual, 0, c.rows());
  dense_conv(args);
  EXPECT_TRUE(test::same_bits(whole, conv.residual));
  EXPECT_TRUE(conv.residual.gaps_untouched());
}

VIG_ON_EVERY_TARGET(ConvDenseOnTarget);

}  // namespace
}  // namespace vig
