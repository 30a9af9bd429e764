#include "vig/kernels/wkv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/wkv_case.h"
#include "vig/kernels/reference/wkv.h"

namespace vig {
namespace {

using test::Sheet;
using test::WkvCase;

constexpr double kTolerance = 3e-6;

void expect_reference(WkvCase& c, bool released, double tolerance = kTolerance) {
  Sheet fast = c.output(), slow = c.output();
  wkv(c.args(released, fast));
  reference::wkv(c.args(released, slow));
  ASSERT_LE(test::distance(fast, slow), tolerance * std::max(1.0, test::largest_magnitude(slow)))
      << c.name(released);
  ASSERT_TRUE(fast.gaps_untouched());
  ASSERT_TRUE(c.scratch.end_untouched()) << c.name(released);
}

class WkvOnTarget : public test::OnTarget {};

TEST_P(WkvOnTarget, EqualsReferenceOnUglySizes) {
  for (const bool released : {false, true}) {
    for (const int64_t tokens : {1, 2, 3, 16, 17, 31, 33, 65, 196, 197}) {
      for (const int64_t channels : {1, 5, 16, 33}) {
        if (tokens > 40 && channels > 5) continue;  // the reference takes T^2 exponentials
        WkvCase c(tokens, channels);
        expect_reference(c, released);
      }
    }
  }
}

// Keys and decays that would overflow, vanish, or both in turn.
TEST_P(WkvOnTarget, EqualsReferenceForExtremeValues) {
  const float keys[][2] = {{-100.0f, 100.0f}, {-2000.0f, 2000.0f}, {500.0f, 501.0f}};
  const float decays[][2] = {{-5.0f, 3.0f}, {0.0f, 0.0f}, {-3000.0f, 3000.0f}, {1e5f, 2e5f}};
  for (const auto& [k_low, k_high] : keys) {
    for (const auto& [w_low, w_high] : decays) {
      WkvCase c(80, 9);
      c.k.noise(1, k_low, k_high);
      c.decay.noise(2, w_low, w_high);
      c.first.noise(3, -500.0f, 500.0f);
      // Keys of 2000 are floats 1.2e-4 apart, and the reference sees the very same; what is lost is
      // in the float decay, which 80 tokens repeat.
      expect_reference(c, false, 2e-5);
      // Where the published kernel subtracts, large growth leaves little of either sum.
      if (w_high <= 3.0f) expect_reference(c, true, 2e-5);
    }
  }
}

TEST_P(WkvOnTarget, EqualsReferenceOnLongSequences) {
  WkvCase c(1000, 2);
  expect_reference(c, false, 1e-5);
  expect_reference(c, true, 1e-5);
}

// Decays so slow that their float rounds them away: over this many tokens the farthest would count
// 0.3 % more than they do. Every value is a token's position, so that a mean shows it.
TEST_P(WkvOnTarget, SlowDecaysLoseNothingOverManyTokens) {
  constexpr int64_t kTokens = 100'000;
  constexpr double kDecay = 2.9e-8;  // of one token; 1 - 2^-24 is the float below 1
  WkvCase c(kTokens, 1);
  c.k.fill([] { return 0.0f; });
  c.decay.fill([] { return static_cast<float>(kDecay * kTokens); });
  c.first.fill([] { return 0.0f; });
  double position = 0.0;
  c.v.fill([&] { return static_cast<float>(position++ / kTokens); });
  Sheet y = c.output();
  wkv(c.args(false, y));
  double upper = c.v.at(0, 0), lower = 1.0;  // of token 0, which all others are behind
  for (int64_t i = 1; i < kTokens; ++i) {
    const double weight = std::exp(-static_cast<double>(i - 1) * kDecay);
    upper += weight * c.v.at(i, 0);
    lower += weight;
  }
  EXPECT_NEAR(y.at(0, 0), upper / lower, 5e-5);
  EXPECT_NEAR(y.at(kTokens - 1, 0), 1.0 - upper / lower, 5e-5);  // its mirror
  EXPECT_TRUE(c.scratch.end_untouched());
}

TEST_P(WkvOnTarget, GatesTheResult) {
  WkvCase c(37, 21);
  Sheet gate(37, 21, 2, 1), fast = c.output(), slow = c.output();
  gate.noise(4, -5.0f, 5.0f);
  WkvArgs args = c.args(false, fast);
  args.gate = gate.data();
  args.gate_stride = gate.stride;
  wkv(args);
  args.y = slow.data();
  reference::wkv(args);
  EXPECT_LE(test::distance(fast, slow), kTolerance);
  args.y = gate.data();
  args.y_stride = gate.stride;
  wkv(args);
  EXPECT_TRUE(test::same_bits(fast, gate));
}

// Outputs may overwrite inputs.
TEST_P(WkvOnTarget, MayStoreInPlace) {
  for (const bool released : {false, true}) {
    for (Sheet WkvCase::*operand : {&WkvCase::k, &WkvCase::v}) {
      WkvCase c(45, 21);
      Sheet apart = c.output();
      wkv(c.args(released, apart));
      wkv(c.args(released, c.*operand));
      EXPECT_TRUE(test::same_bits(apart, c.*operand));
      EXPECT_TRUE((c.*operand).gaps_untouched());
    }
  }
}

TEST_P(WkvOnTarget, ChannelRangesGiveTheSameBits) {
  for (const bool released : {false, true}) {
    WkvCase c(70, 35);
    Sheet whole = c.output();
    wkv(c.args(released, whole));
    for (const int64_t width : {1, 7, 8, 20}) {
      Sheet parts = c.output();
      for (int64_t first = 0; first < 35; first += width) {
        WkvArgs args = c.args(released, parts);
        args.channels = std::min(width, 35 - first);
        args.k += first;
        args.v += first;
        args.decay += first;
        args.first += first;
        args.y += first;
        wkv(args);
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << width << " channels";
    }
  }
}

// The published formula knows no direction.
TEST_P(WkvOnTarget, ReversalReversesTheResult) {
  WkvCase c(50, 9), mirror(50, 9);
  for (int64_t t = 0; t < 50; ++t) {
    for (int64_t e = 0; e < 9; ++e) {
      mirror.k.at(t, e) = c.k.at(49 - t, e);
      mirror.v.at(t, e) = c.v.at(49 - t, e);
    }
  }
  Sheet there = c.output(), back = c.output();
  wkv(c.args(false, there));
  wkv(mirror.args(false, back));
  for (int64_t t = 0; t < 50; ++t) {
    for (int64_t e = 0; e < 9; ++e) EXPECT_NEAR(there.at(t, e), back.at(49 - t, e), kTolerance);
  }
}

VIG_ON_EVERY_TARGET(WkvOnTarget);

}  // namespace
}  // namespace vig
