#include "vig/kernels/backward/selective_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scan_case.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/selective_scan.h"
#include "vig/kernels/reference/selective_scan_backward.h"

namespace vig {
namespace {

using test::ScanCase;
using test::Scratch;
using test::Sheet;

struct Gradients {
  static constexpr const char* kNames[] = {"du", "draw", "db, dc", "dbias", "da_log", "dd"};

  explicit Gradients(const ScanCase& scan)
      : sheets({Sheet(scan.tokens, scan.channels, 1, 3), Sheet(scan.tokens, scan.channels, 2, 1),
                Sheet(scan.tokens, 2 * scan.states, 3, 1), Sheet(1, scan.channels, 0, 1),
                Sheet(scan.states, scan.channels, 2, 3), Sheet(1, scan.channels, 0, 3)}) {
    for (Sheet& sheet : sheets) sheet.fill([] { return 0.0f; });
  }
  std::vector<Sheet> sheets;
};

struct Case : ScanCase {
  Case(int64_t t, int64_t e, int64_t n)
      : ScanCase(t, e, n), dy(t, e, 4, 1), scratch(selective_scan_backward_floats(t, e, n)) {
    dy.noise(17);
  }
  SelectiveScanBackwardArgs backward(Gradients& out) {
    SelectiveScanBackwardArgs back;
    back.scan = args();
    back.dy = {dy.data(), dy.stride, nullptr};
    back.du = {out.sheets[0].data(), out.sheets[0].stride, nullptr};
    back.draw = {out.sheets[1].data(), out.sheets[1].stride, nullptr};
    back.db = {out.sheets[2].data(), out.sheets[2].stride, nullptr};
    back.dc = {out.sheets[2].data() + states, out.sheets[2].stride, nullptr};
    back.dbias = out.sheets[3].data();
    back.da_log = out.sheets[4].data();
    back.da_log_stride = out.sheets[4].stride;
    back.dd = out.sheets[5].data();
    scratch.spoil();
    back.scratch = scratch.data();
    return back;
  }
  // sum of dy * y by the reference.
  double loss() {
    Sheet y = output();
    SelectiveScanArgs scan = args();
    scan.y.data = y.data();
    reference::selective_scan(scan);
    double sum = 0.0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t e = 0; e < channels; ++e) sum += static_cast<double>(y.at(t, e)) * dy.at(t, e);
    }
    return sum;
  }

  Sheet dy;
  Scratch scratch;
};

TEST(SelectiveScanBackwardReference, IsTheSlopeOfTheScan) {
  for (const int64_t tokens : {1, 2, 5}) {
    Case scan(tokens, 2, 3);
    scan.rates.noise(3, -2.0f, -0.5f);
    scan.bias.noise(4, -1.0f, 1.0f);
    Gradients out(scan);
    reference::selective_scan_backward(scan.backward(out));
    const auto expect = [&](size_t g, Sheet& inputs, bool log) {
      for (int64_t r = 0; r < inputs.rows(); ++r) {
        for (int64_t c = 0; c < inputs.width(); ++c) {
          float& x = inputs.at(r, c);
          const double slope = test::slope(x, [&] { return scan.loss(); });
          // Results of order 1, of sums rounded to float.
          EXPECT_NEAR(out.sheets[g].at(r, c), (log ? x : 1.0) * slope, 4e-5)
              << Gradients::kNames[g] << " " << r << ", " << c << ", T " << tokens;
        }
      }
    };
    expect(0, scan.u, false);
    expect(1, scan.raw, false);
    expect(2, scan.bc, false);
    expect(3, scan.bias, false);
    expect(4, scan.rates, true);
    expect(5, scan.d, false);
  }
}

// Roundings grow like the sums they are in: measured against the largest value of each gradient.
void expect_reference(Case& scan, double tolerance = 5e-6) {
  Gradients fast(scan), slow(scan);
  selective_scan_backward(scan.backward(fast));
  EXPECT_TRUE(scan.scratch.end_untouched()) << scan.name();
  reference::selective_scan_backward(scan.backward(slow));
  for (size_t g = 0; g < fast.sheets.size(); ++g) {
    ASSERT_LE(test::distance(fast.sheets[g], slow.sheets[g]),
              tolerance * std::max(0.1, test::largest_magnitude(slow.sheets[g])))
        << Gradients::kNames[g] << ", " << scan.name();
    ASSERT_TRUE(fast.sheets[g].gaps_untouched()) << Gradients::kNames[g] << ", " << scan.name();
  }
}

class SelectiveScanBackwardOnTarget : public test::OnTarget {};

TEST_P(SelectiveScanBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {0, 1, 2, 3, 31, 32, 33, 65, 197}) {
    for (const int64_t channels : {1, 5, 16, 33}) {
      for (const int64_t states : {1, 3, 4, 16}) {
        Case scan(tokens, channels, states);
        expect_reference(scan);
      }
    }
  }
}

TEST_P(SelectiveScanBackwardOnTarget, EqualsReferenceForExtremeStepSizes) {
  const float raws[][2] = {{-30.0f, -20.0f}, {5.0f, 50.0f}, {-40.0f, 40.0f}, {100.0f, 1e6f}};
  for (const auto& [low, high] : raws) {
    Case scan(150, 19, 16);
    scan.raw.noise(3, low, high);
    for (int64_t i = 0; i < 16; ++i) scan.rates.at(i, 7) = 0.0f;
    expect_reference(scan, 1e-5);
  }
}

// Orders of their own, tokens without rows, rows of several tokens, and everything added to what is
// there.
TEST_P(SelectiveScanBackwardOnTarget, TakesOperandsInAnyOrder) {
  Case scan(61, 21, 5);
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> orders(5, std::vector<int32_t>(61));
  for (std::vector<int32_t>& order : orders) {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t n = 0; n < order.size(); n += 9 + random() % 5) order[n] = -1;
  }
  Sheet added(3, 5, 1, 1);
  added.noise(6);
  std::vector<int32_t> moves(61);
  for (size_t n = 0; n < moves.size(); ++n) moves[n] = static_cast<int32_t>(n % 4) - 1;
  std::vector<Gradients> results;
  std::vector<Sheet> dadded;
  for (const bool fast : {true, false}) {
    Gradients out(scan);
    for (Sheet& sheet : out.sheets) sheet.noise(9);
    Sheet dmoves(3, 5, 2, 1);
    dmoves.noise(10);
    SelectiveScanBackwardArgs back = scan.backward(out);
    back.scan.b_added = {added.data(), added.stride, moves.data()};
    back.db_added = {dmoves.data(), dmoves.stride, moves.data()};
    back.scan.u.index = back.du.index = orders[0].data();
    back.scan.raw.index = back.draw.index = orders[1].data();
    back.scan.b.index = back.db.index = orders[2].data();
    back.scan.c.index = back.dc.index = orders[3].data();
    back.dy.index = orders[4].data();
    fast ? selective_scan_backward(back) : reference::selective_scan_backward(back);
    EXPECT_TRUE(scan.scratch.end_untouched());
    results.push_back(out);
    dadded.push_back(dmoves);
  }
  for (size_t g = 0; g < results[0].sheets.size(); ++g) {
    const Sheet &got = results[0].sheets[g], &want = results[1].sheets[g];
    EXPECT_LE(test::distance(got, want), 5e-6 * test::largest_magnitude(want))
        << Gradients::kNames[g];
    EXPECT_TRUE(got.gaps_untouched()) << Gradients::kNames[g];
  }
  EXPECT_LE(test::distance(dadded[0], dadded[1]), 5e-6 * test::largest_magnitude(dadded[1]));
  EXPECT_TRUE(dadded[0].gaps_untouched());
}

// Absent operands and unwanted gradients, in any combination.
TEST_P(SelectiveScanBackwardOnTarget, EqualsReferenceWithEveryOption) {
  for (int option = 0; option < 16; ++option) {
    Case scan(37, 21, 5);
    Gradients fast(scan), slow(scan);
    for (Gradients* out : {&fast, &slow}) {
      SelectiveScanBackwardArgs back = scan.backward(*out);
      if (option & 1) back.scan.bias = nullptr;
      if (option & 2) back.scan.d = nullptr;
      if (option & 4) back.dbias = nullptr;
      if (option & 8) back.dd = nullptr;
      out == &fast ? selective_scan_backward(back) : reference::selective_scan_backward(back);
    }
    for (size_t g = 0; g < fast.sheets.size(); ++g) {
      EXPECT_LE(test::distance(fast.sheets[g], slow.sheets[g]),
                5e-6 * std::max(0.1, test::largest_magnitude(slow.sheets[g])))
          << Gradients::kNames[g] << ", option " << option;
    }
  }
}

VIG_ON_EVERY_TARGET(SelectiveScanBackwardOnTarget);

TEST(SelectiveScanBackwardScratch, GrowsByOneStateASegment) {
  const size_t few = selective_scan_backward_floats(32, 64, 16);
  EXPECT_EQ(selective_scan_backward_floats(33, 64, 16), few + 64 * 16);
  EXPECT_EQ(selective_scan_backward_floats(320, 64, 16), few + 9 * 64 * 16);
}

}  // namespace
}  // namespace vig
