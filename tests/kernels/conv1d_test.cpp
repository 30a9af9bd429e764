#include "vig/kernels/conv1d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/conv1d.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  Case(int64_t t, int64_t e, int64_t w)
      : tokens(t), channels(e), width(w), in(t, e, 3, 1), taps(w, e, 2, 1), bias(1, e, 0, 1) {
    in.noise(1);
    taps.noise(2);
    bias.noise(3);
  }
  Conv1dArgs args(Sheet& out) {
    Conv1dArgs args;
    args.channels = channels;
    args.width = width;
    args.in = {in.data(), in.stride, nullptr};
    args.taps = taps.data();
    args.taps_stride = taps.stride;
    args.bias = bias.data();
    args.function = Elementwise::kSilu;
    args.last = tokens;
    args.out = {out.data(), out.stride, nullptr};
    return args;
  }
  Sheet output() const { return Sheet(tokens, channels, 5, 3); }

  int64_t tokens, channels, width;
  Sheet in, taps, bias;
};

constexpr double kTolerance = 1e-6;

class Conv1dOnTarget : public test::OnTarget {};

TEST_P(Conv1dOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {0, 1, 2, 3, 4, 7, 8, 31, 197}) {
    for (const int64_t channels : {1, 5, 16, 33}) {
      for (const int64_t width : {1, 3, 4, 5}) {
        for (const bool plain : {false, true}) {
          Case c(tokens, channels, width);
          Sheet fast = c.output(), slow = c.output();
          Conv1dArgs args = c.args(fast);
          if (plain) {
            args.bias = nullptr;
            args.function = Elementwise::kIdentity;
          }
          conv1d(args);
          args.out.data = slow.data();
          reference::conv1d(args);
          ASSERT_LE(test::distance(fast, slow), kTolerance)
              << "T " << tokens << ", E " << channels << ", W " << width;
          ASSERT_TRUE(fast.gaps_untouched());
        }
      }
    }
  }
}

TEST_P(Conv1dOnTarget, TakesRowsInAnyOrder) {
  Case c(61, 21, 4);
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> orders(2, std::vector<int32_t>(61));
  for (std::vector<int32_t>& order : orders) {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t n = 0; n < order.size(); n += 19 + random() % 5) order[n] = -1;
  }
  Sheet fast = c.output(), slow = c.output();
  fast.noise(8), slow.noise(8);
  Conv1dArgs args = c.args(fast);
  args.in.index = orders[0].data();
  args.out.index = orders[1].data();
  conv1d(args);
  args.out.data = slow.data();
  reference::conv1d(args);
  EXPECT_LE(test::distance(fast, slow), kTolerance);
  EXPECT_TRUE(fast.gaps_untouched());
}

// The backward direction is the forward one of a reversed copy, reversed.
TEST_P(Conv1dOnTarget, RunsBackward) {
  Case c(30, 19, 4), mirror(30, 19, 4);
  for (int64_t t = 0; t < 30; ++t) {
    for (int64_t e = 0; e < 19; ++e) mirror.in.at(t, e) = c.in.at(29 - t, e);
  }
  Sheet there = c.output(), back = c.output();
  conv1d(mirror.args(there));
  Conv1dArgs args = c.args(back);
  args.in = {c.in.data() + 29 * c.in.stride, -c.in.stride, nullptr};
  args.out = {back.data() + 29 * back.stride, -back.stride, nullptr};
  conv1d(args);
  for (int64_t t = 0; t < 30; ++t) {
    for (int64_t e = 0; e < 19; ++e) ASSERT_EQ(there.at(t, e), back.at(29 - t, e)) << t;
  }
}

TEST_P(Conv1dOnTarget, RangesGiveTheSameBits) {
  Case c(41, 35, 4);
  Sheet whole = c.output();
  conv1d(c.args(whole));
  for (const int64_t count : {1, 3, 4, 6, 20}) {
    for (const int64_t width : {7, 8, 35}) {
      Sheet parts = c.output();
      for (int64_t n = 0; n < 41; n += count) {
        for (int64_t e = 0; e < 35; e += width) {
          Conv1dArgs args = c.args(parts);
          args.first = n;
          args.last = std::min<int64_t>(41, n + count);
          args.channels = std::min(width, 35 - e);
          args.in.data += e;
          args.taps += e;
          args.bias += e;
          args.out.data += e;
          conv1d(args);
        }
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << count << " tokens, " << width << " channels";
      ASSERT_TRUE(parts.gaps_untouched());
    }
  }
}

VIG_ON_EVERY_TARGET(Conv1dOnTarget);

TEST(Conv1dTaps, AreTransposed) {
  const float weight[] = {1, 2, 3, 4, 5, 6};
  float taps[6];
  conv1d_taps(weight, 2, 3, taps);
  EXPECT_EQ(std::vector<float>(taps, taps + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace vig
