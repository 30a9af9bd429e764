#include "vig/kernels/gla.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "kernels/on_targets.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "vig/base/buffer.h"
#include "vig/kernels/reference/gla.h"

namespace vig {
namespace {

using test::Sheet;

enum class Directions { kForward, kBackward, kBoth };
constexpr Directions kAll[] = {Directions::kForward, Directions::kBackward, Directions::kBoth};

// q, k and v of one head side by side, at odd offsets, with gaps; gates of both directions
// likewise.
struct Head {
  Head(int64_t t, int64_t k, int64_t v)
      : tokens(t),
        key_dim(k),
        value_dim(v),
        qkv(t, 2 * k + v, 3, 1),
        forward(t, k, 2, 3),
        backward(t, k, 2, 3),
        state(gla_state_floats(k, v)) {
    const uint32_t seed = static_cast<uint32_t>(t * 10007 + k * 101 + v);
    qkv.noise(seed);
    // Where trained gates lie: exp(logsigmoid(z) / 16) is above 0.7 for all but extreme z.
    forward.noise(seed + 1, 0.7f, 1.0f);
    backward.noise(seed + 2, 0.7f, 1.0f);
  }
  void gates(const std::function<float(int64_t)>& value) {
    int64_t n = 0;
    forward.fill([&] { return value(n++); });
    backward.fill([&] { return value(n++); });
  }
  GlaArgs args(Directions directions, Sheet& o) {
    GlaArgs args;
    args.tokens = tokens;
    args.key_dim = key_dim;
    args.value_dim = value_dim;
    args.q = qkv.data();
    args.k = qkv.data() + key_dim;
    args.v = qkv.data() + 2 * key_dim;
    args.qkv_stride = qkv.stride;
    if (directions != Directions::kBackward) args.alpha_forward = forward.data();
    if (directions != Directions::kForward) args.alpha_backward = backward.data();
    args.alpha_stride = forward.stride;
    args.scale = 0.5f / std::sqrt(static_cast<float>(key_dim));
    args.o = o.data();
    args.o_stride = o.stride;
    args.state = state.data();
    return args;
  }
  Sheet output() const { return Sheet(tokens, value_dim, 5, 3); }
  Sheet run(Directions directions) {
    Sheet o = output();
    gla(args(directions, o));
    EXPECT_TRUE(state.end_untouched()) << "K " << key_dim << ", V " << value_dim;
    return o;
  }
  Sheet by_reference(Directions directions) {
    Sheet o = output();
    reference::gla(args(directions, o));
    return o;
  }

  int64_t tokens, key_dim, value_dim;
  Sheet qkv, forward, backward;
  test::Scratch state;
};

// A state is a sum whose terms fade: with gates up to 1 its roundings (6e-8 each) add up like its
// terms do, so the error is measured against the largest result.
constexpr double kTolerance = 2e-6;

void expect_reference(Head& head, Directions directions, double tolerance = kTolerance) {
  const Sheet fast = head.run(directions), slow = head.by_reference(directions);
  const std::string name = "T " + std::to_string(head.tokens) + ", K " +
                           std::to_string(head.key_dim) + ", V " + std::to_string(head.value_dim) +
                           ", directions " + std::to_string(static_cast<int>(directions));
  ASSERT_LE(test::distance(fast, slow), tolerance * std::max(1.0, test::largest_magnitude(slow)))
      << name;
  ASSERT_TRUE(fast.gaps_untouched()) << name;
}

class GlaOnTarget : public test::OnTarget {};

TEST_P(GlaOnTarget, EqualsReferenceOnUglySizes) {
  for (const Directions directions : kAll) {
    for (const int64_t tokens : {0, 1, 2, 3, 9, 17, 50}) {
      for (const int64_t key_dim : {1, 2, 5, 16, 33}) {
        for (const int64_t value_dim : {0, 1, 3, 8, 15, 16, 17, 31, 33, 47, 64, 65, 100, 131}) {
          Head head(tokens, key_dim, value_dim);
          expect_reference(head, directions);
        }
      }
    }
  }
}

TEST_P(GlaOnTarget, EqualsReferenceOnLongSequences) {
  Head head(5000, 16, 32);
  for (const Directions directions : kAll) expect_reference(head, directions);
  // Nothing is forgotten: sums of 5000 terms of either sign, whose roundings grow like the sums.
  head.gates([](int64_t) { return 1.0f; });
  for (const Directions directions : kAll) expect_reference(head, directions, 1e-5);
  // The product of a chunk's gates is rounded, by the same 3e-8 in all 2500 chunks when all gates
  // are equal: at worst 2500 times that, as if the gates had been rounded differently.
  head.gates([](int64_t) { return 0.9999f; });
  for (const Directions directions : kAll) expect_reference(head, directions, 7.5e-5);
}

// A formula that divides by products of gates fails on every one of these.
TEST_P(GlaOnTarget, EqualsReferenceForExtremeGates) {
  const float kTiny = 1e-38f;
  const std::function<float(int64_t)> gates[] = {
      [](int64_t) { return 0.0f; },
      [&](int64_t) { return kTiny; },
      [](int64_t) { return 1.0f; },
      [&](int64_t n) { return n % 2 == 0 ? kTiny : 1.0f; },
      [&](int64_t n) {
        return n % 7 == 0 ? 0.0f : n % 5 == 0 ? 1.0f : n % 3 == 0 ? kTiny : 0.5f;
      },
      [](int64_t n) { return n % 40 < 20 ? 1e-6f : 0.999999f; },
  };
  for (const auto& gate : gates) {
    Head head(300, 15, 37);
    head.gates(gate);
    for (const Directions directions : kAll) expect_reference(head, directions, 5e-6);
  }
}

// Work is split over value columns as well as heads.
TEST_P(GlaOnTarget, ValueBlocksGiveTheSameBits) {
  for (const Directions directions : kAll) {
    Head head(23, 16, 131);
    const Sheet whole = head.run(directions);
    for (const int64_t block : {1, 7, 8, 16, 32, 48, 64, 100}) {
      Sheet parts = head.output();
      for (int64_t column = 0; column < head.value_dim; column += block) {
        GlaArgs args = head.args(directions, parts);
        args.v += column;
        args.o += column;
        args.value_dim = std::min(block, head.value_dim - column);
        gla(args);
      }
      ASSERT_TRUE(test::same_bits(whole, parts)) << "blocks of " << block;
      ASSERT_TRUE(parts.gaps_untouched());
    }
  }
}

Sheet reversed(const Sheet& sheet) {
  Sheet result = sheet;
  for (int64_t r = 0; r < sheet.rows(); ++r) {
    for (int64_t c = 0; c < sheet.width(); ++c) {
      result.at(r, c) = sheet.at(sheet.rows() - 1 - r, c);
    }
  }
  return result;
}

// A sequence read from its end with the gates swapped gives the very same bits, reversed.
TEST_P(GlaOnTarget, ReversalSwapsTheDirections) {
  for (const int64_t tokens : {1, 2, 51}) {
    Head head(tokens, 32, 64), mirror(tokens, 32, 64);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < head.qkv.width(); ++c) {
        mirror.qkv.at(t, c) = head.qkv.at(tokens - 1 - t, c);
      }
      for (int64_t i = 0; i < head.key_dim; ++i) {
        mirror.forward.at(t, i) = head.backward.at(tokens - 1 - t, i);
        mirror.backward.at(t, i) = head.forward.at(tokens - 1 - t, i);
      }
    }
    EXPECT_TRUE(test::same_bits(head.run(Directions::kForward),
                                reversed(mirror.run(Directions::kBackward))));
    EXPECT_TRUE(test::same_bits(head.run(Directions::kBackward),
                                reversed(mirror.run(Directions::kForward))));
    EXPECT_TRUE(
        test::same_bits(head.run(Directions::kBoth), reversed(mirror.run(Directions::kBoth))));
  }
}

// Gates that act after their token are the gates of the next one.
TEST_P(GlaOnTarget, GatesAfterAreTheGatesOfTheNextToken) {
  for (const int64_t tokens : {0, 1, 2, 22}) {
    Head head(tokens, 13, 37), next(tokens, 13, 37);
    for (int64_t t = 0; t + 1 < tokens; ++t) {
      for (int64_t i = 0; i < head.key_dim; ++i) {
        next.forward.at(t + 1, i) = head.forward.at(t, i);
        next.backward.at(t, i) = head.backward.at(t + 1, i);
      }
    }
    for (const Directions directions : kAll) {
      Sheet fast = head.output(), slow = head.output();
      GlaArgs args = head.args(directions, fast);
      args.gates_after = true;
      gla(args);
      args.o = slow.data();
      reference::gla(args);
      EXPECT_TRUE(test::same_bits(next.run(directions), fast));
      EXPECT_TRUE(test::same_bits(next.by_reference(directions), slow));
    }
  }
}

TEST_P(GlaOnTarget, ValuesMayHaveRowsOfTheirOwn) {
  Head head(22, 13, 37);
  Sheet v(head.tokens, head.value_dim, 6, 1);
  for (int64_t t = 0; t < head.tokens; ++t) {
    for (int64_t j = 0; j < head.value_dim; ++j) {
      v.at(t, j) = head.qkv.at(t, 2 * head.key_dim + j);
    }
  }
  for (const Directions directions : kAll) {
    Sheet fast = head.output(), slow = head.output();
    GlaArgs args = head.args(directions, fast);
    args.v = v.data();
    args.v_stride = v.stride;
    gla(args);
    args.o = slow.data();
    reference::gla(args);
    EXPECT_TRUE(test::same_bits(head.run(directions), fast));
    EXPECT_TRUE(test::same_bits(head.by_reference(directions), slow));
  }
}

// As the runtime scans: each half in one direction, then in the other from the states of the first
// pass. Where the parts are whole chunks, to the bit.
TEST_P(GlaOnTarget, SplittingTheTokensCarriesTheState) {
  for (const int64_t value_dim : {45, 64}) {
    for (const int64_t tokens : {1, 2, 9, 77, 80}) {
      Head head(tokens, 19, value_dim);
      const Sheet whole = head.run(Directions::kBoth);
      for (int64_t split = 0; split <= tokens; split += tokens > 10 ? 16 : 1) {
        Sheet o = head.output();
        Buffer states(2 * gla_state_floats(19, value_dim) * sizeof(float) + 128);
        const auto part = [&](bool back, bool backward, bool second) {
          GlaArgs args = head.args(Directions::kBoth, o);
          const int64_t first = back ? split : 0;
          args.tokens = back ? tokens - split : split;
          args.q += first * args.qkv_stride;
          args.k += first * args.qkv_stride;
          args.v += first * args.qkv_stride;
          args.o += first * args.o_stride;
          args.alpha_forward = backward ? nullptr : args.alpha_forward + first * args.alpha_stride;
          args.alpha_backward =
              backward ? args.alpha_backward + first * args.alpha_stride : nullptr;
          args.state =
              states.floats() + (backward ? (gla_state_floats(19, value_dim) + 15) / 16 * 16 : 0);
          args.resume = args.add = second;
          if (!second) args.scale = 1;
          gla(args);
        };
        part(false, false, false);
        part(true, true, false);
        part(false, true, true);
        part(true, false, true);
        const bool aligned =
            split % gla_chunk_tokens() == 0 && (tokens - split) % gla_chunk_tokens() == 0;
        if (aligned) {
          EXPECT_TRUE(test::same_bits(whole, o)) << tokens << " at " << split;
        } else {
          EXPECT_LE(test::distance(whole, o), 1e-5) << tokens << " at " << split;
        }
        EXPECT_TRUE(o.gaps_untouched());
      }
    }
  }
}

TEST_P(GlaOnTarget, BothIsTheSumOfTheDirections) {
  Head head(77, 19, 45);
  const Sheet forward = head.run(Directions::kForward), backward = head.run(Directions::kBackward);
  Sheet sum = forward;
  for (int64_t t = 0; t < head.tokens; ++t) {
    for (int64_t j = 0; j < head.value_dim; ++j) sum.at(t, j) += backward.at(t, j);
  }
  EXPECT_LE(test::distance(head.run(Directions::kBoth), sum), 1e-6);  // one rounding apart
}

// The scratch is cleared, and the output is overwritten, not added to.
TEST_P(GlaOnTarget, WhatTheBuffersHeldDoesNotMatter) {
  Head head(12, 8, 40);
  for (const Directions directions : kAll) {
    const Sheet first = head.run(directions);
    head.state.spoil();
    Sheet o = head.output();
    o.fill([] { return 1e6f; });
    gla(head.args(directions, o));
    EXPECT_TRUE(test::same_bits(first, o));
  }
}

VIG_ON_EVERY_TARGET(GlaOnTarget);

}  // namespace
}  // namespace vig
