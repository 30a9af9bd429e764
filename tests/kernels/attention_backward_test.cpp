#include "vig/kernels/backward/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "kernels/attention_head.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/attention.h"

namespace vig {
namespace {

using test::Head;
using test::Scratch;
using test::Sheet;

// dq, dk and dv side by side in rows like qkv; those of padded tokens, k and v; dbias.
struct Gradients {
  explicit Gradients(const Head& head)
      : dqkv(head.map_rows, 3 * head.head_dim, 2, 1),
        dpad(1, 2 * head.head_dim, 0, 1),
        dbias(head.tokens, head.tokens, 3, 2) {
    for (Sheet* sheet : {&dqkv, &dpad}) sheet->fill([] { return Head::kUntouched; });
    dbias.fill([] { return 0.0f; });
  }
  Sheet dqkv, dpad, dbias;
};

// A head with the gradient of its output.
struct Case {
  explicit Case(Head of) : head(std::move(of)), grad_o(head.output()), o(head.output()) {
    grad_o.noise(head.seed() + 5);
  }
  AttentionBackwardArgs args(Gradients& out) {
    AttentionBackwardArgs args;
    args.forward = head.args(o, lse);
    args.grad_o = grad_o.data();
    args.grad_o_stride = grad_o.stride;
    args.dq = out.dqkv.data();
    args.dk = args.dq + head.head_dim;
    args.dv = args.dk + head.head_dim;
    args.dqkv_stride = out.dqkv.stride;
    if (!head.rows.empty()) {
      args.dpad_k = out.dpad.data();
      args.dpad_v = out.dpad.data() + head.head_dim;
      args.dbias = out.dbias.data();
      args.dbias_stride = out.dbias.stride;
    }
    return args;
  }
  // After the forward pass by our kernel, whose lse it needs.
  Gradients run() {
    AttentionArgs forward = head.args(o, lse);
    Scratch packed(attention_packed_floats(head.tokens, head.head_dim));
    Scratch room(attention_scratch_floats(head.tokens, head.head_dim));
    forward.packed = packed.data();
    forward.scratch = room.data();
    attention_pack(forward);
    attention(forward);
    Gradients out(head);
    Scratch scratch(attention_backward_scratch_floats(head.tokens, head.head_dim));
    AttentionBackwardArgs backward = args(out);
    backward.scratch = scratch.data();
    attention_backward(backward);
    EXPECT_TRUE(scratch.end_untouched()) << head.name();
    EXPECT_TRUE(out.dqkv.gaps_untouched()) << head.name();
    EXPECT_TRUE(out.dpad.gaps_untouched()) << head.name();
    EXPECT_TRUE(out.dbias.gaps_untouched()) << head.name();
    return out;
  }
  Gradients reference() {
    Gradients out(head);
    reference::attention_backward(args(out));
    return out;
  }
  // sum of do * o, o by the reference implementation.
  double loss() {
    Sheet result = head.output(), sums = head.row_of_sums();
    reference::attention(head.args(result, sums));
    double sum = 0.0;
    for (int64_t t = 0; t < head.tokens; ++t) {
      if (head.padded(t)) continue;
      const int64_t row = head.rows.empty() ? t : head.rows[static_cast<size_t>(t)];
      for (int64_t c = 0; c < head.head_dim; ++c) {
        sum += static_cast<double>(result.at(row, c)) * grad_o.at(row, c);
      }
    }
    return sum;
  }

  Head head;
  Sheet grad_o, o;
  Sheet lse = head.row_of_sums();
};

TEST(AttentionBackwardReference, IsTheSlopeOfTheForwardPass) {
  for (Case test : {Case(Head(1, 3)), Case(Head(5, 3)), Case(Head::window(7, 2))}) {
    const Gradients gradients = test.reference();
    // Sums of a few results of order 1, see slope.h.
    const double tolerance = 2e-5;
    const auto expect = [&](const Sheet& gradient, Sheet& inputs, const char* name) {
      for (int64_t r = 0; r < gradient.rows(); ++r) {
        for (int64_t c = 0; c < gradient.width(); ++c) {
          if (gradient.at(r, c) == Head::kUntouched) continue;  // a row of no token
          EXPECT_NEAR(gradient.at(r, c), test::slope(inputs.at(r, c), [&] { return test.loss(); }),
                      tolerance)
              << name << " " << r << ", " << c << ", " << test.head.name();
        }
      }
    };
    expect(gradients.dqkv, test.head.qkv, "qkv");
    if (test.head.rows.empty()) continue;
    expect(gradients.dpad, test.head.pad, "pad");
    expect(gradients.dbias, test.head.bias, "bias");
  }
}

// Roundings grow like the sums they are in.
constexpr double kTolerance = 2e-6;

void expect_reference(Case& test, double tolerance = kTolerance) {
  const Gradients fast = test.run(), slow = test.reference();
  const auto expect = [&](const Sheet& a, const Sheet& b, const char* name) {
    ASSERT_LE(test::distance(a, b), tolerance * std::max(1.0, test::largest_magnitude(b)))
        << name << ", " << test.head.name();
  };
  expect(fast.dqkv, slow.dqkv, "dqkv");
  expect(fast.dpad, slow.dpad, "dpad");
  expect(fast.dbias, slow.dbias, "dbias");
}

class AttentionBackwardOnTarget : public test::OnTarget {};

TEST_P(AttentionBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t tokens : {1, 2, 3, 17, 49, 64, 81, 197, 600}) {
    for (const int64_t width : {1, 8, 20, 32, 64, 80}) {
      Case test{Head(tokens, width)};
      expect_reference(test);
    }
  }
}

TEST_P(AttentionBackwardOnTarget, WindowsEqualReferenceOnUglySizes) {
  for (const int64_t tokens : {1, 2, 3, 17, 49, 64, 197}) {
    for (const int64_t width : {8, 20, 32, 64}) {
      Case test{Head::window(tokens, width)};
      expect_reference(test);
    }
  }
}

// Logits of +-10000, all equal, one huge: as in the forward pass, sums without rounding.
TEST_P(AttentionBackwardOnTarget, EqualsReferenceForExtremeLogits) {
  for (const int64_t tokens : {2, 49, 200}) {
    for (const int pattern : {0, 1, 2}) {
      Case test{Head(tokens, 20)};
      Head& head = test.head;
      head.scale = 1.0f;
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t c = 0; c < 2 * head.head_dim; ++c) head.qkv.at(t, c) = 0.0f;
        head.q()[t * head.qkv.stride] = t % 3 == 0 ? 100.0f : t % 3 == 1 ? -100.0f : 0.0f;
        head.k()[t * head.qkv.stride] = pattern == 0   ? (t % 2 == 0 ? 100.0f : -100.0f)
                                        : pattern == 1 ? 100.0f
                                                       : (t == tokens / 2 ? 100.0f : 0.0f);
      }
      // lse is 10000 plus a few: rounded to 5e-4, a relative error of every P in its row.
      expect_reference(test, 1e-3);
    }
  }
}

TEST_P(AttentionBackwardOnTarget, AddsToTheGradientOfTheBias) {
  Case test{Head::window(49, 32)};
  const Gradients once = test.run();
  Gradients twice(test.head);
  Scratch scratch(attention_backward_scratch_floats(49, 32));
  AttentionBackwardArgs args = test.args(twice);
  args.scratch = scratch.data();
  attention_backward(args);
  attention_backward(args);
  for (int64_t i = 0; i < 49; ++i) {
    for (int64_t j = 0; j < 49; ++j) {
      ASSERT_EQ(twice.dbias.at(i, j), 2.0f * once.dbias.at(i, j));
    }
  }
  EXPECT_TRUE(test::same_bits(once.dqkv, twice.dqkv));
  EXPECT_TRUE(test::same_bits(once.dpad, twice.dpad));
}

// A bias that does not learn, and windows without padded tokens.
TEST_P(AttentionBackwardOnTarget, UnwantedGradientsMayBeLeftOut) {
  for (const bool pads : {true, false}) {
    Case test{Head::window(49, 32, pads)};
    const Gradients all = test.run();
    Gradients some(test.head);
    Scratch scratch(attention_backward_scratch_floats(49, 32));
    AttentionBackwardArgs args = test.args(some);
    args.scratch = scratch.data();
    args.dbias = nullptr;
    if (!pads) args.dpad_k = args.dpad_v = nullptr;
    attention_backward(args);
    EXPECT_TRUE(test::same_bits(all.dqkv, some.dqkv));
    EXPECT_EQ(test::largest_magnitude(some.dbias), 0.0);
  }
}

TEST_P(AttentionBackwardOnTarget, WindowOfPaddedTokensAloneHasNoGradient) {
  Case test{Head::window(9, 8)};
  for (int32_t& row : test.head.rows) row = -1;
  const Gradients out = test.run();
  EXPECT_EQ(test::largest_magnitude(out.dpad), 0.0);
  EXPECT_EQ(test::largest_magnitude(out.dbias), 0.0);
  for (int64_t r = 0; r < test.head.map_rows; ++r) {
    for (int64_t c = 0; c < 24; ++c) ASSERT_EQ(out.dqkv.at(r, c), Head::kUntouched);
  }
}

VIG_ON_EVERY_TARGET(AttentionBackwardOnTarget);

TEST(AttentionBackwardScratch, GrowsWithTheTokensAndNotWithTheirSquare) {
  EXPECT_LE(attention_backward_scratch_floats(20000, 64), 20000 * 64 * 8u);
}

}  // namespace
}  // namespace vig
