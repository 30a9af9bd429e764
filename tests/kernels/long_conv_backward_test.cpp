#include "vig/kernels/backward/long_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/long_conv.h"

namespace vig {
namespace {

using test::Scratch;
using test::Sheet;

struct Case {
  Case(int64_t t, int64_t e, int64_t past_taps, int64_t future_taps)
      : tokens(t),
        channels(e),
        past(past_taps),
        future(future_taps),
        in(t, e, 3, 1),
        rows(past_taps + future_taps, e, 2, 1),
        dy(t, e, 1, 2) {
    in.noise(1);
    rows.noise(2);
    dy.noise(3);
  }
  LongTaps taps() { return {rows.data(), rows.stride, past, future}; }
  LongConvArgs forward() {
    LongConvArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.in = in.data();
    args.in_stride = in.stride;
    args.past = past;
    args.future = future;
    return args;
  }
  double loss() {
    Sheet y(tokens, channels);
    LongConvArgs args = forward();
    args.out = y.data();
    args.out_stride = y.stride;
    reference::long_conv(args, taps());
    double sum = 0.0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t e = 0; e < channels; ++e) sum += static_cast<double>(y.at(t, e)) * dy.at(t, e);
    }
    return sum;
  }
  // dx and dtaps, added to noise.
  std::vector<Sheet> output() const {
    std::vector<Sheet> made = {Sheet(tokens, channels, 2, 1), Sheet(past + future, channels, 2, 1)};
    for (Sheet& sheet : made) sheet.noise(9);
    return made;
  }
  void reference_gradients(std::vector<Sheet>& out) {
    reference::LongConvGradients grads;
    grads.dy = dy.data();
    grads.dy_stride = dy.stride;
    grads.dx = out[0].data();
    grads.dx_stride = out[0].stride;
    grads.dtaps = out[1].data();
    reference::long_conv_backward(forward(), taps(), grads);
  }
  void kernel_gradients(std::vector<Sheet>& out) {
    Sheet turned(past + future, channels), dx(tokens, channels);
    long_conv_turned_taps(taps(), channels, turned.data());
    Scratch packed(long_conv_packed_floats(future + 1, past - 1, channels));
    long_conv_pack({turned.data(), channels, future + 1, past - 1}, channels, packed.data());
    Scratch scratch(long_conv_taps_floats(tokens));
    LongConvArgs conv = forward();
    conv.in = dy.data();
    conv.in_stride = dy.stride;
    conv.past = future + 1;
    conv.future = past - 1;
    conv.packed = packed.data();
    conv.out = dx.data();
    conv.out_stride = dx.stride;
    conv.scratch = scratch.data();
    long_conv(conv);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t e = 0; e < channels; ++e) out[0].at(t, e) += dx.at(t, e);
    }
    LongConvTapsArgs args = taps_args(out[1], scratch);
    scratch.spoil();
    long_conv_taps_backward(args);
    EXPECT_TRUE(scratch.end_untouched()) << "T " << tokens;
  }
  LongConvTapsArgs taps_args(Sheet& dtaps, Scratch& scratch) {
    LongConvTapsArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.in = in.data();
    args.in_stride = in.stride;
    args.dy = dy.data();
    args.dy_stride = dy.stride;
    args.past = past;
    args.future = future;
    args.dtaps = dtaps.data();
    args.dtaps_stride = dtaps.stride;
    args.scratch = scratch.data();
    return args;
  }

  int64_t tokens, channels, past, future;
  Sheet in, rows, dy;
};

class LongConvBackwardOnTarget : public test::OnTarget {};

TEST_P(LongConvBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {1, 2, 3, 5, 8, 13, 40, 196}) {
    for (const int64_t channels : {1, 16, 35}) {
      for (const auto& [past, future] :
           {std::pair<int64_t, int64_t>{1, 0}, {1, 3}, {4, 1}, {11, 14}, {196, 195}}) {
        Case c(tokens, channels, past, future);
        std::vector<Sheet> fast = c.output(), slow = c.output();
        c.kernel_gradients(fast);
        c.reference_gradients(slow);
        for (size_t i = 0; i < 2; ++i) {
          ASSERT_LE(test::distance(fast[i], slow[i]), 2e-7 * static_cast<double>(tokens + 4))
              << (i == 0 ? "dx" : "dtaps") << ", T " << tokens << ", E " << channels << ", taps "
              << past << " and " << future;
          ASSERT_TRUE(fast[i].gaps_untouched());
        }
      }
    }
  }
}

TEST_P(LongConvBackwardOnTarget, BlocksGiveTheSameBits) {
  Case c(41, 50, 30, 25);
  Scratch scratch(long_conv_taps_floats(c.tokens));
  Sheet whole = c.output()[1], parts = c.output()[1];
  long_conv_taps_backward(c.taps_args(whole, scratch));
  for (int64_t e = 0; e < c.channels; e += kLongConvBlock) {
    LongConvTapsArgs args = c.taps_args(parts, scratch);
    args.channels = std::min(kLongConvBlock, c.channels - e);
    args.in += e;
    args.dy += e;
    args.dtaps += e;
    long_conv_taps_backward(args);
  }
  EXPECT_TRUE(test::same_bits(whole, parts));
  EXPECT_TRUE(parts.gaps_untouched());
}

VIG_ON_EVERY_TARGET(LongConvBackwardOnTarget);

TEST(LongConvBackwardReference, IsTheSlopeOfTheForwardReference) {
  Case c(7, 2, 5, 3);
  std::vector<Sheet> found = c.output();
  for (Sheet& sheet : found) sheet.fill([] { return 0.0f; });
  c.reference_gradients(found);
  const auto loss = [&] { return c.loss(); };
  for (int64_t e = 0; e < 2; ++e) {
    for (int64_t t = 0; t < 7; ++t) {
      EXPECT_NEAR(found[0].at(t, e), test::slope(c.in.at(t, e), loss), 1e-5) << "dx " << t;
    }
    for (int64_t row = 0; row < 8; ++row) {
      EXPECT_NEAR(found[1].at(row, e), test::slope(c.rows.at(row, e), loss), 1e-5) << "tap " << row;
    }
  }
}

}  // namespace
}  // namespace vig
