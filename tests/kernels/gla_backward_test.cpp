#include "vig/kernels/backward/gla.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/gla_backward.h"

namespace vig {
namespace {

using test::Sheet;

enum class Directions { kForward, kBackward, kBoth };
constexpr Directions kAll[] = {Directions::kForward, Directions::kBackward, Directions::kBoth};

// dq, dk, dv and the gradients of the gates, each with gaps of its own.
struct Gradients {
  static constexpr const char* kNames[] = {"dq", "dk", "dv", "dlog_alpha_forward",
                                           "dlog_alpha_backward"};
  Gradients(int64_t t, int64_t k, int64_t v, Directions directions)
      : sheets{Sheet(t, k, v + 3, 1), Sheet(t, k, v + 3, 2), Sheet(t, v, k + 3, 0),
               Sheet(directions == Directions::kBackward ? 0 : t, k, 3, 1),
               Sheet(directions == Directions::kForward ? 0 : t, k, 3, 2)} {}
  std::array<Sheet, 5> sheets;
};

// q, k and v of one head side by side, at odd offsets, with gaps; the rest likewise.
struct Head {
  Head(int64_t t, int64_t k, int64_t v)
      : tokens(t),
        key_dim(k),
        value_dim(v),
        qkv(t, 2 * k + v, 3, 1),
        forward(t, k, 2, 3),
        backward(t, k, 2, 3),
        grad_o(t, v, 1, 2),
        scratch(gla_backward_scratch_floats(t, k, v)) {
    const uint32_t seed = static_cast<uint32_t>(t * 10007 + k * 101 + v);
    qkv.noise(seed);
    // Where trained gates lie: exp(logsigmoid(z) / 16) is above 0.7 for all but extreme z.
    forward.noise(seed + 1, 0.7f, 1.0f);
    backward.noise(seed + 2, 0.7f, 1.0f);
    grad_o.noise(seed + 3);
  }
  void gates(const std::function<float(int64_t)>& value) {
    int64_t n = 0;
    forward.fill([&] { return value(n++); });
    backward.fill([&] { return value(n++); });
  }
  float scale() const { return 0.5f / std::sqrt(static_cast<float>(key_dim)); }
  GlaBackwardArgs args(Directions directions, Gradients& out) {
    GlaBackwardArgs args;
    args.tokens = tokens;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.q = qkv.data();
    args.k = qkv.data() + key_dim;
    args.v = qkv.data() + 2 * key_dim;
    args.qkv_stride = qkv.stride;
    args.alpha_stride = forward.stride;
    args.scale = scale();
    args.grad_o = grad_o.data();
    args.grad_o_stride = grad_o.stride;
    args.dq = out.sheets[0].data();
    args.dk = out.sheets[1].data();
    args.dv = out.sheets[2].data();
    args.dqkv_stride = out.sheets[0].stride;
    if (directions != Directions::kBackward) {
      args.alpha_forward = forward.data();
      args.dlog_alpha_forward = out.sheets[3].data();
    }
    if (directions != Directions::kForward) {
      args.alpha_backward = backward.data();
      args.dlog_alpha_backward = out.sheets[4].data();
    }
    args.dlog_alpha_stride = out.sheets[3].stride;
    args.scratch = scratch.data();
    return args;
  }
  Gradients output(Directions directions) const { return {tokens, key_dim, value_dim, directions}; }
  Gradients run(Directions directions) {
    Gradients out = output(directions);
    gla_backward(args(directions, out));
    EXPECT_TRUE(scratch.end_untouched())
        << "T " << tokens << ", K " << key_dim << ", V " << value_dim;
    return out;
  }
  Gradients by_reference(Directions directions) {
    Gradients out = output(directions);
    reference::gla_backward(args(directions, out));
    return out;
  }
  // sum of do * o, o by the slow scan.
  double loss(Directions directions) {
    Sheet o(tokens, value_dim);
    GlaArgs scan;
    scan.tokens = tokens;
    scan.key_dim = key_dim;
    scan.value_dim = value_dim;
    scan.q = qkv.data();
    scan.k = qkv.data() + key_dim;
    scan.v = qkv.data() + 2 * key_dim;
    scan.qkv_stride = qkv.stride;
    if (directions != Directions::kBackward) scan.alpha_forward = forward.data();
    if (directions != Directions::kForward) scan.alpha_backward = backward.data();
    scan.alpha_stride = forward.stride;
    scan.scale = scale();
    scan.o = o.data();
    scan.o_stride = o.stride;
    reference::gla(scan);
    double sum = 0.0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t j = 0; j < value_dim; ++j) {
        sum += static_cast<double>(o.at(t, j)) * grad_o.at(t, j);
      }
    }
    return sum;
  }
  // Of the loss by the float x. The loss is linear in each single input, so that a difference is
  // its derivative for any difference.
  double slope(Directions directions, float& x) {
    const float was = x, high = was + 0.5f, low = was - 0.5f;
    x = high;
    const double up = loss(directions);
    x = low;
    const double down = loss(directions);
    x = was;
    return (up - down) / (static_cast<double>(high) - low);
  }

  int64_t tokens, key_dim, value_dim;
  Sheet qkv, forward, backward, grad_o;
  test::Scratch scratch;
};

TEST(GlaBackwardReference, IsTheSlopeOfTheScan) {
  for (const Directions directions : kAll) {
    for (const int64_t tokens : {1, 2, 6}) {
      Head head(tokens, 3, 2);
      head.forward.at(tokens - 1, 0) = 1e-6f;
      head.backward.at(0, 1) = 1.0f;
      const Gradients expected = head.by_reference(directions);
      // Results of order 1, rounded to float.
      const double tolerance = 2e-6;
      const auto expect = [&](int g, Sheet& inputs, int64_t first, bool log) {
        const Sheet& gradient = expected.sheets[static_cast<size_t>(g)];
        for (int64_t t = 0; t < gradient.rows(); ++t) {
          for (int64_t i = 0; i < gradient.width(); ++i) {
            float& x = inputs.at(t, first + i);
            EXPECT_NEAR(gradient.at(t, i), (log ? x : 1.0) * head.slope(directions, x), tolerance)
                << Gradients::kNames[g] << " " << t << ", " << i << ", T " << tokens;
          }
        }
      };
      expect(0, head.qkv, 0, false);
      expect(1, head.qkv, head.key_dim, false);
      expect(2, head.qkv, 2 * head.key_dim, false);
      expect(3, head.forward, 0, true);
      expect(4, head.backward, 0, true);
    }
  }
}

// Roundings grow like the sums they are in: measured against the largest value of each gradient,
// or against `least` if that is larger.
constexpr double kTolerance = 2e-6;

void expect_reference(Head& head, Directions directions, double tolerance = kTolerance,
                      double least = 0.0) {
  const Gradients fast = head.run(directions), slow = head.by_reference(directions);
  const std::string name = "T " + std::to_string(head.tokens) + ", K " +
                           std::to_string(head.key_dim) + ", V " + std::to_string(head.value_dim) +
                           ", directions " + std::to_string(static_cast<int>(directions));
  for (size_t g = 0; g < fast.sheets.size(); ++g) {
    ASSERT_LE(test::distance(fast.sheets[g], slow.sheets[g]),
              tolerance * std::max(least, test::largest_magnitude(slow.sheets[g])))
        << Gradients::kNames[g] << ", " << name;
    ASSERT_TRUE(fast.sheets[g].gaps_untouched()) << Gradients::kNames[g] << ", " << name;
  }
}

class GlaBackwardOnTarget : public test::OnTarget {};

TEST_P(GlaBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const Directions directions : kAll) {
    for (const int64_t tokens : {0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65}) {
      for (const int64_t key_dim : {1, 3, 8, 15, 16, 17, 33}) {
        for (const int64_t value_dim : {0, 1, 7, 16, 33}) {
          Head head(tokens, key_dim, value_dim);
          // A single pair of tokens leaves one sum, which may happen to be near 0: its terms count.
          expect_reference(head, directions, kTolerance, head.scale());
        }
      }
    }
  }
}

// The heads of the networks, and sequences of one to nine kept segments.
TEST_P(GlaBackwardOnTarget, EqualsReferenceOnLongSequences) {
  for (const int64_t tokens : {196, 256, 257, 512, 513}) {
    Head plain(tokens, 32, 64), half(tokens, 16, 32), odd(tokens, 37, 131);
    for (const Directions directions : kAll) {
      expect_reference(plain, directions);
      expect_reference(half, directions);
      expect_reference(odd, directions);
    }
  }
  // Nothing is forgotten: sums of 700 terms of either sign, whose roundings grow like the sums.
  Head head(700, 16, 32);
  head.gates([](int64_t) { return 1.0f; });
  for (const Directions directions : kAll) expect_reference(head, directions, 1e-5);
}

// A formula that divides by products of gates, or gets the gates' gradient from dq and dk, fails
// here.
TEST_P(GlaBackwardOnTarget, EqualsReferenceForExtremeGates) {
  // exp(logsigmoid(z) / 16)
  const auto gate = [](double z) {
    return static_cast<float>(std::exp(-std::log1p(std::exp(-z)) / 16.0));
  };
  const float kTiny = 1e-38f;
  const std::function<float(int64_t)> gates[] = {
      [&](int64_t) { return gate(-200.0); },
      [&](int64_t) { return gate(200.0); },
      [&](int64_t n) { return gate(n % 2 == 0 ? -200.0 : 200.0); },
      [&](int64_t n) { return gate(n * 7919 % 401 - 200.0); },
      [](int64_t) { return 0.0f; },
      [&](int64_t n) { return n % 2 == 0 ? kTiny : 1.0f; },
      [&](int64_t n) {
        return n % 7 == 0 ? 0.0f : n % 5 == 0 ? 1.0f : n % 3 == 0 ? kTiny : 0.5f;
      },
      [](int64_t n) { return n % 40 < 20 ? 1e-6f : 0.999999f; },
  };
  for (const auto& value : gates) {
    Head head(300, 15, 37);
    head.gates(value);
    for (const Directions directions : kAll) expect_reference(head, directions, 5e-6);
  }
}

// A sequence read from its end with the gates swapped gives the very same bits, reversed.
TEST_P(GlaBackwardOnTarget, ReversalSwapsTheDirections) {
  for (const int64_t tokens : {1, 2, 51, 259}) {
    Head head(tokens, 32, 64), mirror(tokens, 32, 64);
    const auto mirrored = [tokens](const Sheet& from, Sheet& to) {
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t c = 0; c < from.width(); ++c) to.at(t, c) = from.at(tokens - 1 - t, c);
      }
    };
    mirrored(head.qkv, mirror.qkv);
    mirrored(head.grad_o, mirror.grad_o);
    mirrored(head.forward, mirror.backward);
    mirrored(head.backward, mirror.forward);
    const Gradients there = head.run(Directions::kBoth), back = mirror.run(Directions::kBoth);
    constexpr size_t kPartner[] = {0, 1, 2, 4, 3};
    for (size_t g = 0; g < there.sheets.size(); ++g) {
      Sheet again = there.sheets[g];
      mirrored(back.sheets[kPartner[g]], again);
      EXPECT_TRUE(test::same_bits(there.sheets[g], again)) << Gradients::kNames[g];
    }
  }
}

TEST_P(GlaBackwardOnTarget, BothIsTheSumOfTheDirections) {
  Head head(77, 19, 45);
  const Gradients forward = head.run(Directions::kForward),
                  backward = head.run(Directions::kBackward), both = head.run(Directions::kBoth);
  for (size_t g = 0; g < 3; ++g) {
    Sheet sum = forward.sheets[g];
    for (int64_t t = 0; t < sum.rows(); ++t) {
      for (int64_t i = 0; i < sum.width(); ++i) sum.at(t, i) += backward.sheets[g].at(t, i);
    }
    // One rounding apart.
    EXPECT_LE(test::distance(both.sheets[g], sum), 2e-7 * test::largest_magnitude(sum))
        << Gradients::kNames[g];
  }
  EXPECT_TRUE(test::same_bits(both.sheets[3], forward.sheets[3]));
  EXPECT_TRUE(test::same_bits(both.sheets[4], backward.sheets[4]));
}

TEST_P(GlaBackwardOnTarget, SharedGatesGetTheSumOfBothGradients) {
  Head head(61, 19, 45);
  for (int64_t t = 0; t < head.tokens; ++t) {
    for (int64_t i = 0; i < head.key_dim; ++i) head.backward.at(t, i) = head.forward.at(t, i);
  }
  const Gradients apart = head.run(Directions::kBoth);
  Gradients together = head.output(Directions::kBoth), expected = head.output(Directions::kBoth);
  GlaBackwardArgs args = head.args(Directions::kBoth, together);
  args.alpha_backward = args.alpha_forward;
  args.dlog_alpha_backward = args.dlog_alpha_forward;
  gla_backward(args);
  args = head.args(Directions::kBoth, expected);
  args.dlog_alpha_backward = args.dlog_alpha_forward;
  reference::gla_backward(args);
  for (size_t g = 0; g < 3; ++g) {
    EXPECT_TRUE(test::same_bits(apart.sheets[g], together.sheets[g])) << Gradients::kNames[g];
  }
  Sheet sum = apart.sheets[3];
  for (int64_t t = 0; t < sum.rows(); ++t) {
    for (int64_t i = 0; i < sum.width(); ++i) sum.at(t, i) += apart.sheets[4].at(t, i);
  }
  EXPECT_TRUE(test::same_bits(sum, together.sheets[3]));
  EXPECT_LE(test::distance(sum, expected.sheets[3]), kTolerance * test::largest_magnitude(sum));
  EXPECT_TRUE(together.sheets[3].gaps_untouched());
}

TEST_P(GlaBackwardOnTarget, IsLinearInTheGradientOfTheOutput) {
  Head a(70, 17, 33), b(70, 17, 33), sum(70, 17, 33), twice(70, 17, 33);
  b.grad_o.noise(7);
  for (int64_t t = 0; t < sum.tokens; ++t) {
    for (int64_t j = 0; j < sum.value_dim; ++j) {
      sum.grad_o.at(t, j) = a.grad_o.at(t, j) + b.grad_o.at(t, j);
      twice.grad_o.at(t, j) = 2.0f * a.grad_o.at(t, j);
    }
  }
  const Gradients of_a = a.run(Directions::kBoth), of_b = b.run(Directions::kBoth),
                  of_sum = sum.run(Directions::kBoth), of_twice = twice.run(Directions::kBoth);
  for (size_t g = 0; g < of_a.sheets.size(); ++g) {
    Sheet added = of_a.sheets[g], doubled = of_a.sheets[g];
    for (int64_t t = 0; t < added.rows(); ++t) {
      for (int64_t i = 0; i < added.width(); ++i) {
        added.at(t, i) += of_b.sheets[g].at(t, i);
        doubled.at(t, i) *= 2.0f;
      }
    }
    EXPECT_LE(test::distance(of_sum.sheets[g], added), kTolerance * test::largest_magnitude(added))
        << Gradients::kNames[g];
    EXPECT_TRUE(test::same_bits(of_twice.sheets[g], doubled)) << Gradients::kNames[g];
  }
}

// The scratch is cleared, and outputs are overwritten, not added to.
TEST_P(GlaBackwardOnTarget, WhatTheBuffersHeldDoesNotMatter) {
  Head head(270, 33, 65);
  for (const Directions directions : kAll) {
    const Gradients first = head.run(directions);
    head.scratch.spoil();
    Gradients out = head.output(directions);
    for (Sheet& sheet : out.sheets) sheet.fill([] { return 1e6f; });
    gla_backward(head.args(directions, out));
    for (size_t g = 0; g < out.sheets.size(); ++g) {
      EXPECT_TRUE(test::same_bits(first.sheets[g], out.sheets[g])) << Gradients::kNames[g];
    }
  }
}

VIG_ON_EVERY_TARGET(GlaBackwardOnTarget);

// States are kept for one segment, and one for each before it.
TEST(GlaBackwardScratch, GrowsByOneStateASegment) {
  const auto states = [](int64_t tokens, int64_t key_dim, int64_t value_dim) {
    return gla_backward_scratch_floats(tokens, key_dim, value_dim) /
           static_cast<size_t>(key_dim * value_dim);
  };
  EXPECT_EQ(states(256, 32, 64), 65u);
  EXPECT_EQ(states(256 * 1000, 32, 64), 65u + 999u);
  EXPECT_EQ(states(1024, 16, 32), 257u);
  EXPECT_EQ(states(64 * 1000, 256, 512), 17u + 999u);
}

}  // namespace
}  // namespace vig
