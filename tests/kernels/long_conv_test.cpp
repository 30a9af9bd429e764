#include "vig/kernels/long_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/long_conv.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  Case(int64_t t, int64_t e, int64_t past_taps, int64_t future_taps)
      : tokens(t),
        channels(e),
        past(past_taps),
        future(future_taps),
        in(t, e, 3, 1),
        rows(past_taps + future_taps, e, 2, 1),
        packed(long_conv_packed_floats(past, future, e)),
        scratch(long_conv_floats(t)) {
    in.noise(1);
    rows.noise(2);
    pack();
  }
  void pack() { long_conv_pack(taps(), channels, packed.data()); }
  LongTaps taps() { return {rows.data(), rows.stride, past, future}; }
  LongConvArgs args(Sheet& out) {
    LongConvArgs args;
    args.tokens = tokens;
    args.channels = channels;
    args.in = in.data();
    args.in_stride = in.stride;
    args.packed = packed.data();
    args.past = past;
    args.future = future;
    args.out = out.data();
    args.out_stride = out.stride;
    args.scratch = scratch.data();
    return args;
  }
  Sheet output() const { return Sheet(tokens, channels, 5, 3); }

  int64_t tokens, channels, past, future;
  Sheet in, rows;
  test::Scratch packed, scratch;
};

// Of the products that are summed.
double tolerance(const Case& c) {
  return 2e-7 * static_cast<double>(std::max<int64_t>(c.tokens, 4));
}

class LongConvOnTarget : public test::OnTarget {};

TEST_P(LongConvOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {0, 1, 2, 3, 5, 8, 9, 31, 196}) {
    for (const int64_t channels : {1, 5, 16, 35}) {
      for (const auto& [past, future] :
           {std::pair<int64_t, int64_t>{1, 0}, {1, 1}, {3, 0}, {2, 7}, {13, 11}, {196, 196}}) {
        Case c(tokens, channels, past, future);
        Sheet fast = c.output(), slow = c.output();
        LongConvArgs args = c.args(fast);
        long_conv(args);
        args.out = slow.data();
        reference::long_conv(args, c.taps());
        ASSERT_LE(test::distance(fast, slow), tolerance(c))
            << "T " << tokens << ", E " << channels << ", taps " << past << " and " << future;
        ASSERT_TRUE(fast.gaps_untouched());
        ASSERT_TRUE(c.packed.end_untouched()) << "taps " << past << " and " << future;
        ASSERT_TRUE(c.scratch.end_untouched()) << "T " << tokens;
      }
    }
  }
}

TEST_P(LongConvOnTarget, AppliesItsFunction) {
  Case c(30, 21, 30, 29);
  for (const Elementwise function : {Elementwise::kGelu, Elementwise::kSilu}) {
    Sheet fast = c.output(), slow = c.output();
    LongConvArgs args = c.args(fast);
    args.function = function;
    long_conv(args);
    args.out = slow.data();
    reference::long_conv(args, c.taps());
    EXPECT_LE(test::distance(fast, slow), 6e-6);
  }
}

// The tap of a distance meets the token that far away: taps that are zero but for one shift.
TEST_P(LongConvOnTarget, OneTapShifts) {
  constexpr int64_t kPast = 6, kFuture = 5;
  for (int64_t distance = -kFuture; distance < kPast; ++distance) {
    Case c(17, 3, kPast, kFuture);
    c.rows.fill([] { return 0.0f; });
    for (int64_t e = 0; e < 3; ++e) c.rows.at(distance + kFuture, e) = 2.0f;
    c.pack();
    Sheet out = c.output();
    long_conv(c.args(out));
    for (int64_t t = 0; t < 17; ++t) {
      const int64_t from = t - distance;
      for (int64_t e = 0; e < 3; ++e) {
        const float want = from >= 0 && from < 17 ? 2.0f * c.in.at(from, e) : 0.0f;
        ASSERT_EQ(out.at(t, e), want) << distance << ", token " << t;
      }
    }
  }
}

// Near the largest floats sums stay finite, and tiny taps are not lost beside each other.
TEST_P(LongConvOnTarget, ExtremeValues) {
  for (const float size : {1e30f, 1e-30f}) {
    Case c(40, 18, 40, 39);
    c.in.noise(3, -size, size);
    c.rows.noise(4, -1e-3f, 1e-3f);
    c.pack();
    Sheet fast = c.output(), slow = c.output();
    LongConvArgs args = c.args(fast);
    long_conv(args);
    args.out = slow.data();
    reference::long_conv(args, c.taps());
    EXPECT_LE(test::distance(fast, slow), 1e-6 * test::largest_magnitude(slow)) << size;
    EXPECT_GT(test::largest_magnitude(slow), 0.0);
  }
}

TEST_P(LongConvOnTarget, BlocksGiveTheSameBits) {
  Case c(50, 53, 20, 33);
  Sheet whole = c.output();
  long_conv(c.args(whole));
  for (const int64_t width : {kLongConvBlock, 2 * kLongConvBlock}) {
    Sheet parts = c.output();
    for (int64_t e = 0; e < c.channels; e += width) {
      LongConvArgs args = c.args(parts);
      args.channels = std::min(width, c.channels - e);
      args.in += e;
      args.out += e;
      args.packed += e / kLongConvBlock * long_conv_block_floats(c.past, c.future);
      long_conv(args);
    }
    ASSERT_TRUE(test::same_bits(whole, parts)) << width << " channels";
    ASSERT_TRUE(parts.gaps_untouched());
  }
}

VIG_ON_EVERY_TARGET(LongConvOnTarget);

}  // namespace
}  // namespace vig
