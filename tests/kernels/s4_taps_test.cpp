#include "vig/kernels/s4_taps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "support/errors.h"
#include "vig/kernels/reference/s4_taps.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  Case(int64_t d, int64_t n, int64_t s, int64_t r)
      : inv_dt(1, d), a_real(s, n), a_imag(s, n), b(s, 2 * n), p(s, 2 * n), c(r, d * 2 * n) {
    inv_dt.noise(1, -5.0f, -1.0f);
    a_real.noise(2, -1.5f, 0.5f);
    a_imag.noise(3, 0.0f, 30.0f);
    b.noise(4);
    p.noise(5, -2.0f, 2.0f);
    c.noise(6);
  }
  // The largest difference of the taps, as a share of the largest.
  double error(int64_t l_kernel, int64_t length) {
    S4TapsArgs args;
    args.channels = inv_dt.width();
    args.rows = c.rows();
    args.pairs = a_real.width();
    args.systems = a_real.rows();
    args.inv_dt = inv_dt.data();
    args.a_real = a_real.data();
    args.a_imag = a_imag.data();
    args.b = b.data();
    args.p = p.data();
    args.c = c.data();
    args.l_kernel = l_kernel;
    args.length = length;
    Sheet fast(args.rows * length, args.channels), slow(args.rows * length, args.channels);
    args.taps = fast.data();
    s4_taps(args);
    args.taps = slow.data();
    reference::s4_taps(args);
    return test::distance(fast, slow) / test::largest_magnitude(slow);
  }

  Sheet inv_dt, a_real, a_imag, b, p, c;
};

// Both are rounded to float from double.
constexpr double kTolerance = 1.3e-7;

class S4TapsOnTarget : public test::OnTarget {};

TEST_P(S4TapsOnTarget, EqualTheStateSpace) {
  for (const int64_t pairs : {1, 3, 8}) {
    for (const int64_t systems : {1, 3}) {
      Case c(5, pairs, systems, 3);
      for (const int64_t length : {1, 2, 7, 20}) {
        for (const int64_t l_kernel : {int64_t{0}, length, length + 5, int64_t{6}}) {
          EXPECT_LE(c.error(l_kernel, length), kTolerance)
              << pairs << " pairs, " << systems << " systems, l_kernel " << l_kernel << ", length "
              << length;
        }
      }
    }
  }
}

// Step sizes from a thousandth to a hundred, and states that hardly or immediately decay.
TEST_P(S4TapsOnTarget, ExtremeStepSizes) {
  for (const float step : {-7.0f, 0.0f, 4.6f}) {
    for (const float rate : {-8.0f, 4.0f}) {
      Case c(2, 4, 1, 2);
      c.inv_dt.noise(7, step, step + 0.01f);
      c.a_real.noise(8, rate, rate + 0.1f);
      EXPECT_LE(c.error(0, 12), kTolerance) << step << ", " << rate;
    }
  }
}

VIG_ON_EVERY_TARGET(S4TapsOnTarget);

// One pair of states without P: the taps of a decaying oscillation, by the bilinear rule.
TEST(S4TapsReference, OfOnePairOfStates) {
  const float inv_dt = std::log(0.1f), a_real = 0.0f, a_imag = 2.0f;
  const float b[] = {1.0f, 0.0f}, p[] = {0.0f, 0.0f}, c[] = {0.5f, 0.0f};
  float taps[3];
  S4TapsArgs args;
  args.channels = args.rows = args.pairs = 1;
  args.inv_dt = &inv_dt;
  args.a_real = &a_real;
  args.a_imag = &a_imag;
  args.b = b;
  args.p = p;
  args.c = c;
  args.length = 3;
  args.taps = taps;
  reference::s4_taps(args);
  const std::complex<double> half(-0.05, -0.1), one = 1.0;  // dt / 2 of -1 - 2 i
  std::complex<double> state = 0.1 / (one - half);
  for (const float tap : taps) {
    EXPECT_NEAR(tap, state.real(), 1e-8);  // 2 Re of a half
    state *= (one + half) / (one - half);
  }
}

TEST(S4Taps, TheLengthIsAWholeNumber) {
  EXPECT_EQ(s4_kernel_length(196.0f), 196);
  EXPECT_EQ(s4_kernel_length(195.99999f), 196);  // of an average of networks
  EXPECT_EQ(s4_kernel_length(0.0f), 0);
  EXPECT_EQ(s4_kernel_length(static_cast<float>(kMostS4Taps)), kMostS4Taps);
  for (const float length : {-1.0f, 4097.0f, 5000.0f, 1e30f, std::nanf("")}) {
    test::expect_error(ErrorCode::kInput, {"l_kernel", "0 to 4096"},
                       [&] { s4_kernel_length(length); });
  }
}

}  // namespace
}  // namespace vig
