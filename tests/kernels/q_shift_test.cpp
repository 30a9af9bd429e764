#include "vig/kernels/q_shift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/q_shift.h"

namespace vig {
namespace {

using test::Sheet;

struct Grid {
  Grid(int64_t h, int64_t w, int64_t c, int n)
      : height(h), width(w), channels(c), mixes(n), in(h * w, c, 3, 1) {
    in.noise(1);
    for (int i = 0; i < n; ++i) {
      mix.emplace_back(1, c, 0, 1).noise(static_cast<uint32_t>(2 + i));
      dout.emplace_back(h * w, c, 2, 3).noise(static_cast<uint32_t>(6 + i));
    }
  }
  int64_t tokens() const { return height * width; }
  std::vector<Sheet> outputs() const {
    return std::vector<Sheet>(static_cast<size_t>(mixes), Sheet(tokens(), channels, 5, 3));
  }
  QShiftArgs args(std::vector<Sheet>& out) {
    QShiftArgs args;
    args.in = in.data();
    args.in_stride = in.stride;
    args.height = height;
    args.width = width;
    args.channels = channels;
    args.last_row = tokens();
    args.mixes = mixes;
    for (int n = 0; n < mixes; ++n) {
      args.mix[n] = mix[static_cast<size_t>(n)].data();
      args.out[n] = out[static_cast<size_t>(n)].data();
      args.out_stride = out[static_cast<size_t>(n)].stride;
    }
    return args;
  }
  QShiftBackwardArgs backward(Sheet& dx, std::vector<Sheet>& dmix) {
    QShiftBackwardArgs args;
    args.in = in.data();
    args.in_stride = in.stride;
    args.height = height;
    args.width = width;
    args.channels = channels;
    args.last_row = tokens();
    args.mixes = mixes;
    for (int n = 0; n < mixes; ++n) {
      args.mix[n] = mix[static_cast<size_t>(n)].data();
      args.dout[n] = dout[static_cast<size_t>(n)].data();
      args.dout_stride = dout[static_cast<size_t>(n)].stride;
      dmix.emplace_back(1, channels, 0, 1).fill([] { return 0.5f; });
    }
    for (int n = 0; n < mixes; ++n) args.dmix[n] = dmix[static_cast<size_t>(n)].data();
    args.dx = dx.data();
    args.dx_stride = dx.stride;
    return args;
  }
  // sum of dout * out by the reference.
  double loss() {
    std::vector<Sheet> out = outputs();
    reference::q_shift_mix(args(out));
    double sum = 0.0;
    for (size_t n = 0; n < out.size(); ++n) {
      for (int64_t t = 0; t < tokens(); ++t) {
        for (int64_t c = 0; c < channels; ++c) sum += out[n].at(t, c) * double{dout[n].at(t, c)};
      }
    }
    return sum;
  }

  int64_t height, width, channels;
  int mixes;
  Sheet in;
  std::vector<Sheet> mix, dout;
};

constexpr double kTolerance = 1e-6;

TEST(QShiftReference, BackwardIsTheSlope) {
  Grid grid(3, 2, 4, 2);
  Sheet dx(6, 4);
  std::vector<Sheet> dmix;
  reference::q_shift_mix_backward(grid.backward(dx, dmix));
  for (int64_t c = 0; c < 4; ++c) {
    for (int64_t t = 0; t < 6; ++t) {
      EXPECT_NEAR(dx.at(t, c), test::slope(grid.in.at(t, c), [&] { return grid.loss(); }), 2e-5);
    }
    for (size_t n = 0; n < 2; ++n) {
      EXPECT_NEAR(dmix[n].at(0, c) - 0.5,
                  test::slope(grid.mix[n].at(0, c), [&] { return grid.loss(); }), 2e-5);
    }
  }
}

class QShiftOnTarget : public test::OnTarget {};

TEST_P(QShiftOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t height : {1, 2, 5}) {
    for (const int64_t width : {1, 3, 4}) {
      for (const int64_t channels : {4, 5, 12, 66, 131}) {
        for (const int mixes : {1, 2, 3}) {
          Grid grid(height, width, channels, mixes);
          const std::string name = std::to_string(height) + " x " + std::to_string(width) + " x " +
                                   std::to_string(channels);
          std::vector<Sheet> fast = grid.outputs(), slow = grid.outputs();
          q_shift_mix(grid.args(fast));
          reference::q_shift_mix(grid.args(slow));
          Sheet fast_dx = grid.outputs()[0], slow_dx = grid.outputs()[0];
          std::vector<Sheet> fast_dmix, slow_dmix;
          q_shift_mix_backward(grid.backward(fast_dx, fast_dmix));
          reference::q_shift_mix_backward(grid.backward(slow_dx, slow_dmix));
          ASSERT_LE(test::distance(fast_dx, slow_dx), kTolerance) << name;
          ASSERT_TRUE(fast_dx.gaps_untouched());
          for (size_t n = 0; n < fast.size(); ++n) {
            ASSERT_LE(test::distance(fast[n], slow[n]), kTolerance) << name;
            ASSERT_TRUE(fast[n].gaps_untouched());
            ASSERT_LE(test::distance(fast_dmix[n], slow_dmix[n]), 5e-6) << name;
          }
        }
      }
    }
  }
}

TEST_P(QShiftOnTarget, RangesOfRowsGiveTheSameBits) {
  Grid grid(5, 4, 21, 3);
  std::vector<Sheet> whole = grid.outputs(), parts = grid.outputs();
  Sheet whole_dx = whole[0], parts_dx = whole[0];
  std::vector<Sheet> whole_dmix, parts_dmix;
  q_shift_mix(grid.args(whole));
  q_shift_mix_backward(grid.backward(whole_dx, whole_dmix));
  const QShiftBackwardArgs back = grid.backward(parts_dx, parts_dmix);
  for (int64_t first = 0; first < 20; first += 3) {
    QShiftArgs args = grid.args(parts);
    QShiftBackwardArgs part = back;
    args.first_row = part.first_row = first;
    args.last_row = part.last_row = std::min<int64_t>(20, first + 3);
    for (float*& out : args.out) out += first * args.out_stride;
    part.dx += first * part.dx_stride;
    q_shift_mix(args);
    q_shift_mix_backward(part);
  }
  EXPECT_TRUE(test::same_bits(whole_dx, parts_dx));
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_TRUE(test::same_bits(whole[n], parts[n]));
    EXPECT_TRUE(test::same_bits(whole_dmix[n], parts_dmix[n]));
  }
}

// Without the input there is no gradient of the mixes, and that of the input is the same.
TEST_P(QShiftOnTarget, GradientOfTheInputAlone) {
  Grid grid(5, 4, 21, 3);
  Sheet both_dx = grid.outputs()[0], alone_dx = both_dx;
  std::vector<Sheet> both_dmix, alone_dmix;
  q_shift_mix_backward(grid.backward(both_dx, both_dmix));
  QShiftBackwardArgs args = grid.backward(alone_dx, alone_dmix);
  args.in = nullptr;
  q_shift_mix_backward(args);
  EXPECT_TRUE(test::same_bits(both_dx, alone_dx));
  for (const Sheet& dmix : alone_dmix) EXPECT_EQ(dmix.at(0, 20), 0.5f);
}

VIG_ON_EVERY_TARGET(QShiftOnTarget);

}  // namespace
}  // namespace vig
