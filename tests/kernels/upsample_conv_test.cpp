#include "vig/kernels/upsample_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/upsample_conv.h"

namespace vig {
namespace {

using test::Sheet;

constexpr int64_t kBatch = 2;

struct Case {
  UpsampleShape shape;
  Elementwise function = Elementwise::kIdentity;
  bool residual = false;
  bool bias = true;
  int64_t rows() const { return kBatch * 4 * shape.height * shape.width; }
};

const Case kCases[] = {{{3, 5, 7, 19}},
                       {{4, 15, 33, 40}, Elementwise::kRelu, true},
                       {{1, 1, 16, 35}, Elementwise::kGelu},
                       {{2, 1, 5, 3}, Elementwise::kIdentity, true, false},
                       {{7, 2, 24, 70}, Elementwise::kSilu, true}};

// Operands of one case. All rows have gaps and start at odd floats.
struct Layer {
  explicit Layer(const Case& c)
      : test_case(c),
        in(kBatch * c.shape.height * c.shape.width, c.shape.in_channels, 3, 1),
        weight(c.shape.in_channels, 4 * c.shape.out_channels),
        bias(1, c.shape.out_channels),
        residual(c.rows(), c.shape.out_channels, 5, 3),
        panels(upsample_packed_floats(c.shape.in_channels, c.shape.out_channels) * sizeof(float)) {
    const float reach = 1.0f / std::sqrt(static_cast<float>(c.shape.in_channels));
    in.noise(1);
    weight.noise(2, -reach, reach);
    bias.noise(3);
    residual.noise(4);
    upsample_pack(weight.data(), biases(), c.shape.in_channels, c.shape.out_channels,
                  panels.floats());
  }
  const float* biases() const { return test_case.bias ? bias.data() : nullptr; }
  Sheet output() const { return Sheet(test_case.rows(), test_case.shape.out_channels, 7, 5); }
  UpsampleConvArgs args(Sheet& out, int64_t first, int64_t last) const {
    UpsampleConvArgs args;
    args.shape = test_case.shape;
    args.in = in.data();
    args.in_stride = in.stride;
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

  Case test_case;
  Sheet in, weight, bias, residual;
  Buffer panels;
};

class UpsampleConvOnTarget : public test::OnTarget {};

TEST_P(UpsampleConvOnTarget, EqualsReference) {
  for (const Case& c : kCases) {
    const Layer layer(c);
    Sheet fast = layer.output(), slow = fast;
    upsample_conv(layer.args(fast, 0, c.rows()));
    reference::upsample_conv(layer.weight.data(), layer.biases(), layer.args(slow, 0, c.rows()));
    // Sums of order 1 after at most 33 roundings.
    ASSERT_LE(test::distance(fast, slow), 2e-6) << c.shape.in_channels;
    ASSERT_TRUE(fast.gaps_untouched());
  }
}

TEST_P(UpsampleConvOnTarget, HasTheSameBitsInPartsOfRowsAndColumns) {
  for (const Case& c : kCases) {
    const Layer layer(c);
    Sheet whole = layer.output();
    upsample_conv(layer.args(whole, 0, c.rows()));
    for (const int64_t count : {1, 3, 14, 29}) {
      Sheet parts = layer.output();
      for (int64_t first = 0; first < c.rows(); first += count) {
        const int64_t last = std::min(c.rows(), first + count);
        upsample_conv(layer.args(parts, first, last));
        Sheet alone = layer.output();
        upsample_conv(layer.args(alone, first, last));
        ASSERT_TRUE(test::wrote_only(alone, first, last)) << first << " by " << count;
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << count;
    }
    Sheet columns = layer.output();
    const int64_t blocks = upsample_blocks(c.shape.in_channels, c.shape.out_channels);
    for (int64_t block = 0; block < blocks; ++block) {
      UpsampleConvArgs args = layer.args(columns, 0, c.rows());
      args.first_block = block;
      args.last_block = block + 1;
      upsample_conv(args);
    }
    ASSERT_TRUE(test::same_bits(whole, columns));
  }
}

VIG_ON_EVERY_TARGET(UpsampleConvOnTarget);

}  // namespace
}  // namespace vig
