#include "vig/kernels/selective_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scan_case.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/selective_scan.h"

namespace vig {
namespace {

using test::ScanCase;
using test::Sheet;

// States are sums of terms that fade; their roundings grow like the sums.
constexpr double kTolerance = 3e-6;

void expect_reference(ScanCase& scan, const SelectiveScanArgs& base,
                      double tolerance = kTolerance) {
  SelectiveScanArgs args = base;
  Sheet fast = scan.output(), slow = scan.output();
  if (args.add) {
    fast.noise(99);
    slow.noise(99);
  }
  args.y.data = fast.data();
  selective_scan(args);
  args.y.data = slow.data();
  reference::selective_scan(args);
  const std::string name = scan.name();
  ASSERT_LE(test::distance(fast, slow), tolerance * std::max(1.0, test::largest_magnitude(slow)))
      << name;
  ASSERT_TRUE(fast.gaps_untouched()) << name;
  ASSERT_TRUE(scan.state.end_untouched()) << name;
}

class SelectiveScanOnTarget : public test::OnTarget {};

TEST_P(SelectiveScanOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {0, 1, 2, 3, 16, 17, 31, 196, 197}) {
    for (const int64_t channels : {1, 5, 16, 33}) {
      for (const int64_t states : {1, 3, 4, 16}) {
        ScanCase scan(tokens, channels, states);
        expect_reference(scan, scan.args());
      }
    }
  }
}

TEST_P(SelectiveScanOnTarget, EqualsReferenceWithEveryOption) {
  for (int option = 0; option < 64; ++option) {
    ScanCase scan(37, 21, 5);
    Sheet gate(37, 21, 4, 1), added(3, 5, 1, 1);
    gate.noise(5, -4.0f, 4.0f);
    added.noise(6);
    std::vector<int32_t> moves(37);
    for (size_t n = 0; n < moves.size(); ++n) moves[n] = static_cast<int32_t>(n % 4) - 1;
    SelectiveScanArgs args = scan.args();
    if (option & 1) args.bias = nullptr;
    if (option & 2) args.d = nullptr;
    if (option & 4) args.add = true;
    if (option & 8) args.scale = 0.5f;
    if (option & 16) args.gate = {gate.data(), gate.stride, nullptr};
    if (option & 32) args.b_added = {added.data(), added.stride, moves.data()};
    expect_reference(scan, args);
  }
}

// Step sizes so large that every decay vanishes, so small that none does, and mixtures of them;
// rates of 0. A formula that divides by products of decays fails on these.
TEST_P(SelectiveScanOnTarget, EqualsReferenceForExtremeStepSizes) {
  const float raws[][2] = {{-30.0f, -20.0f}, {-90.0f, -80.0f}, {5.0f, 50.0f},
                           {-40.0f, 40.0f},  {100.0f, 1e6f},   {1e8f, 1e12f}};
  for (const auto& [low, high] : raws) {
    ScanCase scan(150, 19, 16);
    scan.raw.noise(3, low, high);
    for (int64_t i = 0; i < 16; ++i) scan.rates.at(i, 7) = 0.0f;
    expect_reference(scan, scan.args());
  }
  // Nothing is forgotten over a long sequence.
  ScanCase scan(4000, 9, 4);
  scan.raw.noise(4, -14.0f, -9.0f);
  expect_reference(scan, scan.args(), 1e-5);
}

// Every operand in an order of its own, some tokens without rows.
TEST_P(SelectiveScanOnTarget, TakesOperandsInAnyOrder) {
  ScanCase scan(61, 35, 6);
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> orders(5, std::vector<int32_t>(61));
  for (std::vector<int32_t>& order : orders) {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t n = 0; n < order.size(); n += 9 + random() % 5) order[n] = -1;
  }
  SelectiveScanArgs args = scan.args();
  args.u.index = orders[0].data();
  args.raw.index = orders[1].data();
  args.b.index = orders[2].data();
  args.c.index = orders[3].data();
  args.y.index = orders[4].data();
  Sheet fast = scan.output(), slow = scan.output();
  fast.noise(8);
  slow.noise(8);
  args.y.data = fast.data();
  selective_scan(args);
  args.y.data = slow.data();
  reference::selective_scan(args);
  EXPECT_LE(test::distance(fast, slow), kTolerance * test::largest_magnitude(slow));
  EXPECT_TRUE(fast.gaps_untouched());
  const Sheet before = scan.output().noise(8);
  for (int64_t t = 0; t < 61; ++t) {
    const bool stored = std::find(orders[4].begin(), orders[4].end(), t) != orders[4].end();
    EXPECT_EQ(stored, fast.at(t, 3) != before.at(t, 3)) << t;
  }
}

// Reversed rows by negative strides or by an index, and a reversed copy: the same bits.
TEST_P(SelectiveScanOnTarget, RunsBackward) {
  for (const int64_t tokens : {1, 2, 51}) {
    ScanCase scan(tokens, 19, 4);
    ScanCase mirror = scan;
    for (Sheet* sheet : {&mirror.u, &mirror.raw, &mirror.bc}) {
      const Sheet copy = *sheet;
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t c = 0; c < copy.width(); ++c) sheet->at(t, c) = copy.at(tokens - 1 - t, c);
      }
    }
    Sheet mirrored = scan.output(), strided = scan.output(), indexed = scan.output();
    SelectiveScanArgs args = mirror.args();
    args.y.data = mirrored.data();
    selective_scan(args);

    args = scan.args();
    args.y.data = strided.data();
    const auto reverse = [&](auto& sequence) {
      sequence.data += (tokens - 1) * sequence.stride;
      sequence.stride = -sequence.stride;
    };
    reverse(args.u), reverse(args.raw), reverse(args.b), reverse(args.c), reverse(args.y);
    selective_scan(args);

    std::vector<int32_t> order(static_cast<size_t>(tokens));
    std::iota(order.rbegin(), order.rend(), 0);
    args = scan.args();
    args.y.data = indexed.data();
    args.u.index = args.raw.index = args.b.index = args.c.index = args.y.index = order.data();
    selective_scan(args);
    EXPECT_TRUE(test::same_bits(strided, indexed));
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t e = 0; e < 19; ++e) {
        ASSERT_EQ(strided.at(t, e), mirrored.at(tokens - 1 - t, e)) << t << ", " << e;
      }
    }
  }
}

TEST_P(SelectiveScanOnTarget, ChannelBlocksGiveTheSameBits) {
  for (const int64_t states : {1, 5}) {
    ScanCase scan(40, 67, states);
    scan.raw.noise(2, -6.0f, 30.0f);  // some blocks have vanishing decays, others none
    const Sheet whole = scan.run();
    for (const int64_t block : {1, 7, 8, 16, 40}) {
      Sheet parts = scan.output();
      for (int64_t first = 0; first < 67; first += block) {
        SelectiveScanArgs args = scan.args();
        args.channels = std::min(block, 67 - first);
        args.u.data += first;
        args.raw.data += first;
        args.bias += first;
        args.rates += first;
        args.d += first;
        args.y.data = parts.data() + first;
        selective_scan(args);
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << "blocks of " << block;
    }
  }
}

TEST_P(SelectiveScanOnTarget, SplittingTheTokensCarriesTheState) {
  for (const int64_t states : {1, 7}) {
    ScanCase scan(53, 35, states);
    const Sheet whole = scan.run();
    for (const int64_t split : {0, 1, 15, 16, 17, 30, 53}) {
      Sheet parts = scan.output();
      const SelectiveScanArgs whole_args = scan.args();
      for (const bool second : {false, true}) {
        SelectiveScanArgs args = whole_args;
        args.y.data = parts.data();
        const int64_t first = second ? split : 0;
        args.tokens = second ? 53 - split : split;
        args.u.data += first * args.u.stride;
        args.raw.data += first * args.raw.stride;
        args.b.data += first * args.b.stride;
        args.c.data += first * args.c.stride;
        args.y.data += first * args.y.stride;
        args.resume = second;
        selective_scan(args);
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << "split at " << split;
    }
  }
}

// Outputs may overwrite inputs.
TEST_P(SelectiveScanOnTarget, MayStoreInPlace) {
  ScanCase scan(45, 21, 4);
  const Sheet apart = scan.run();
  for (const bool in_u : {true, false}) {
    ScanCase copy = scan;
    Sheet& reused = in_u ? copy.u : copy.raw;
    SelectiveScanArgs args = copy.args();
    args.y = {reused.data(), reused.stride, nullptr};
    selective_scan(args);
    EXPECT_TRUE(test::same_bits(apart, reused));
  }
}

VIG_ON_EVERY_TARGET(SelectiveScanOnTarget);

TEST(SelectiveScanRates, AreTransposedAndInPowersOfTwo) {
  const float a_log[] = {0.0f, 1.0f, 2.0f, -1.0f, -2.0f, 0.5f};
  float rates[6];
  selective_scan_rates(a_log, 3, 2, rates);
  for (int e = 0; e < 3; ++e) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(rates[i * 3 + e], -std::exp(a_log[e * 2 + i]) * std::log2(std::exp(1.0)), 1e-5);
    }
  }
}

}  // namespace
}  // namespace vig
