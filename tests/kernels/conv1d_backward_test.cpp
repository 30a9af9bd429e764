#include "vig/kernels/backward/conv1d.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/conv1d.h"
#include "vig/kernels/reference/conv1d_backward.h"

namespace vig {
namespace {

using test::Sheet;

// dx, dtaps and dbias.
struct Gradients {
  static constexpr const char* kNames[] = {"dx", "dtaps", "dbias"};
  Gradients(int64_t tokens, int64_t channels, int64_t width)
      : sheets({Sheet(tokens, channels, 2, 1), Sheet(width, channels, 1, 3),
                Sheet(1, channels, 0, 1)}) {
    for (Sheet& sheet : sheets) sheet.noise(9);  // is added to
  }
  std::vector<Sheet> sheets;
};

struct Case {
  Case(int64_t t, int64_t e, int64_t w)
      : tokens(t),
        channels(e),
        width(w),
        in(t, e, 3, 1),
        taps(w, e, 2, 1),
        bias(1, e, 0, 1),
        dy(t, e, 1, 1) {
    in.noise(1);
    taps.noise(2);
    bias.noise(3);
    dy.noise(4);
  }
  Conv1dArgs forward() {
    Conv1dArgs args;
    args.channels = channels;
    args.width = width;
    args.in = {in.data(), in.stride, nullptr};
    args.taps = taps.data();
    args.taps_stride = taps.stride;
    args.bias = bias.data();
    args.function = Elementwise::kSilu;
    args.last = tokens;
    return args;
  }
  Conv1dBackwardArgs args(Gradients& out) {
    Conv1dBackwardArgs args;
    args.conv = forward();
    args.dy = {dy.data(), dy.stride, nullptr};
    args.dx = {out.sheets[0].data(), out.sheets[0].stride, nullptr};
    args.dtaps = out.sheets[1].data();
    args.dtaps_stride = out.sheets[1].stride;
    args.dbias = out.sheets[2].data();
    return args;
  }
  Gradients output() const { return Gradients(tokens, channels, width); }
  double loss() {
    Sheet y(tokens, channels);
    Conv1dArgs conv = forward();
    conv.out = {y.data(), y.stride, nullptr};
    reference::conv1d(conv);
    double sum = 0.0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t e = 0; e < channels; ++e) sum += static_cast<double>(y.at(t, e)) * dy.at(t, e);
    }
    return sum;
  }

  int64_t tokens, channels, width;
  Sheet in, taps, bias, dy;
};

TEST(Conv1dBackwardReference, IsTheSlope) {
  for (const int64_t tokens : {1, 3, 7}) {
    Case c(tokens, 2, 4);
    Gradients before = c.output(), after = c.output();
    reference::conv1d_backward(c.args(after));
    const auto expect = [&](size_t g, Sheet& inputs) {
      for (int64_t r = 0; r < inputs.rows(); ++r) {
        for (int64_t e = 0; e < 2; ++e) {
          EXPECT_NEAR(after.sheets[g].at(r, e) - before.sheets[g].at(r, e),
                      test::slope(inputs.at(r, e), [&] { return c.loss(); }), 1e-5)
              << Gradients::kNames[g] << " " << r << ", " << e;
        }
      }
    };
    expect(0, c.in);
    expect(1, c.taps);
    expect(2, c.bias);
  }
}

void expect_same(const Gradients& fast, const Gradients& slow, const std::string& name) {
  for (size_t g = 0; g < 3; ++g) {
    ASSERT_LE(test::distance(fast.sheets[g], slow.sheets[g]),
              3e-6 * std::max(1.0, test::largest_magnitude(slow.sheets[g])))
        << Gradients::kNames[g] << ", " << name;
    ASSERT_TRUE(fast.sheets[g].gaps_untouched()) << Gradients::kNames[g] << ", " << name;
  }
}

class Conv1dBackwardOnTarget : public test::OnTarget {};

TEST_P(Conv1dBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {0, 1, 2, 3, 4, 31, 197}) {
    for (const int64_t channels : {1, 5, 16, 33}) {
      for (const int64_t width : {1, 3, 4, 5, 16}) {
        Case c(tokens, channels, width);
        Gradients fast = c.output(), slow = c.output();
        conv1d_backward(c.args(fast));
        reference::conv1d_backward(c.args(slow));
        expect_same(fast, slow,
                    "T " + std::to_string(tokens) + ", E " + std::to_string(channels) + ", W " +
                        std::to_string(width));
      }
    }
  }
}

TEST_P(Conv1dBackwardOnTarget, TakesRowsInAnyOrder) {
  Case c(61, 21, 4);
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> orders(2, std::vector<int32_t>(61));
  for (std::vector<int32_t>& order : orders) {
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (size_t n = 0; n < order.size(); n += 19 + random() % 5) order[n] = -1;
  }
  Gradients fast = c.output(), slow = c.output();
  for (Gradients* out : {&fast, &slow}) {
    Conv1dBackwardArgs args = c.args(*out);
    args.conv.in.index = args.dx.index = orders[0].data();
    args.dy.index = orders[1].data();
    out == &fast ? conv1d_backward(args) : reference::conv1d_backward(args);
  }
  expect_same(fast, slow, "orders");
}

// Without a bias, without its gradient, and with neither; without a function.
TEST_P(Conv1dBackwardOnTarget, EqualsReferenceWithEveryOption) {
  for (const int64_t width : {3, 4}) {
    for (int option = 0; option < 8; ++option) {
      Case c(23, 21, width);
      Gradients fast = c.output(), slow = c.output();
      for (Gradients* out : {&fast, &slow}) {
        Conv1dBackwardArgs args = c.args(*out);
        if (option & 1) args.conv.bias = nullptr;
        if (option & 2) args.dbias = nullptr;
        if (option & 4) args.conv.function = Elementwise::kIdentity;
        out == &fast ? conv1d_backward(args) : reference::conv1d_backward(args);
      }
      expect_same(fast, slow, "option " + std::to_string(option));
    }
  }
}

VIG_ON_EVERY_TARGET(Conv1dBackwardOnTarget);

}  // namespace
}  // namespace vig
