#include "vig/kernels/backward/deformable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/deformable_case.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/deformable.h"

namespace vig {
namespace {

using test::DeformableCase;
using test::Sheet;

struct Gradients {
  explicit Gradients(const DeformableCase& c)
      : dvalues(c.values.rows(), c.values.width(), 2, 3),
        doffsets(c.offsets.rows(), c.offsets.width(), 4, 1),
        dlogits(c.logits.rows(), c.logits.width(), 1, 2) {
    dvalues.fill([] { return 0.5f; });
  }
  Sheet dvalues, doffsets, dlogits;
};

struct Case : DeformableCase {
  explicit Case(const test::DeformableShapes& shapes) : DeformableCase(shapes), grad(output()) {
    grad.noise(7);
  }
  DeformableBackwardArgs backward(Gradients& to) {
    DeformableBackwardArgs args;
    args.forward = this->args(grad);
    args.forward.out = nullptr;
    args.grad_out = grad.data();
    args.grad_out_stride = grad.stride;
    args.dvalues = to.dvalues.data();
    args.dvalues_stride = to.dvalues.stride;
    args.doffsets = to.doffsets.data();
    args.doffsets_stride = to.doffsets.stride;
    args.dlogits = to.dlogits.data();
    args.dlogits_stride = to.dlogits.stride;
    return args;
  }
  double loss() {
    Sheet out = output();
    reference::deformable(args(out));
    double sum = 0.0;
    for (int64_t r = 0; r < out.rows(); ++r) {
      for (int64_t i = 0; i < out.width(); ++i) {
        sum += static_cast<double>(out.at(r, i)) * grad.at(r, i);
      }
    }
    return sum;
  }
  Sheet grad;
};

// Between cell borders the result is linear in values and bilinear in positions, so that a
// difference of 2^-5 is exact where it crosses none; offsets are put at least 2^-4 away from
// borders.
TEST(DeformableBackwardReference, IsTheSlope) {
  Case c({{{3, 5}, {2, 2}}, {{2, 3}}, 2, 2, 3});
  for (int64_t q = 0; q < c.offsets.rows(); ++q) {
    for (int64_t i = 0; i < c.offsets.width(); ++i) {
      const int64_t level = i / 4 % 2;
      const double size =
          static_cast<double>(i % 2 == 0 ? c.levels[level].width : c.levels[level].height);
      const double cells = i % 2 == 0 ? 3.0 : 2.0;
      const double middle =
          (static_cast<double>(i % 2 == 0 ? q % 3 : q / 3) + 0.5) / cells * size - 0.5;
      const double at = middle + c.offsets.at(q, i), rest = at - std::floor(at);
      const double moved = std::floor(at) + std::clamp(rest, 0.07, 0.93);
      c.offsets.at(q, i) = static_cast<float>(moved - middle);
    }
  }
  Gradients out(c);
  reference::deformable_backward(c.backward(out));
  const auto expect = [&](Sheet& inputs, const Sheet& found, float less, const char* name) {
    constexpr float kDifference = 0x1p-5f;
    for (int64_t r = 0; r < inputs.rows(); ++r) {
      for (int64_t i = 0; i < inputs.width(); ++i) {
        float& x = inputs.at(r, i);
        const float at = x;
        x = at + kDifference;
        const double above = c.loss();
        x = at - kDifference;
        const double below = c.loss();
        x = at;
        // The softmax has a third derivative: below 1 times 2^-10 / 6.
        EXPECT_NEAR(found.at(r, i) - less, (above - below) / (2.0 * kDifference), 2e-4)
            << name << " " << r << ", " << i;
      }
    }
  };
  expect(c.values, out.dvalues, 0.5f, "dvalues");
  expect(c.offsets, out.doffsets, 0.0f, "doffsets");
  expect(c.logits, out.dlogits, 0.0f, "dlogits");
}

class DeformableBackwardOnTarget : public test::OnTarget {};

TEST_P(DeformableBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const auto& shapes : test::deformable_shapes()) {
    Case c(shapes);
    Gradients fast(c), slow(c);
    deformable_backward(c.backward(fast));
    reference::deformable_backward(c.backward(slow));
    const auto expect = [&](const Sheet& found, const Sheet& want, const char* name) {
      EXPECT_LE(test::distance(found, want), 2e-6 * std::max(1.0, test::largest_magnitude(want)))
          << name << ", " << c.name();
      EXPECT_TRUE(found.gaps_untouched()) << name << ", " << c.name();
    };
    expect(fast.dvalues, slow.dvalues, "dvalues");
    expect(fast.doffsets, slow.doffsets, "doffsets");
    expect(fast.dlogits, slow.dlogits, "dlogits");
  }
}

TEST_P(DeformableBackwardOnTarget, RangesOfHeadsGiveTheSameBits) {
  Case c({{{5, 6}, {2, 3}}, {{3, 4}, {2, 2}}, 5, 4, 21});
  Gradients together(c), apart(c);
  deformable_backward(c.backward(together));
  for (const auto& [first, last] : {std::pair(3, 5), {0, 1}, {1, 3}}) {
    DeformableBackwardArgs args = c.backward(apart);
    args.first_head = first;
    args.last_head = last;
    deformable_backward(args);
  }
  EXPECT_TRUE(test::same_bits(together.dvalues, apart.dvalues));
  EXPECT_TRUE(test::same_bits(together.doffsets, apart.doffsets));
  EXPECT_TRUE(test::same_bits(together.dlogits, apart.dlogits));
}

// v = a x + b y: the gradient of an offset is (a, b) times its weight at any position.
TEST_P(DeformableBackwardOnTarget, ALinearMapHasTheSameSlopeEverywhere) {
  Case c({{{7, 9}}, {{2, 2}}, 1, 3, 1});
  for (int64_t i = 0; i < 63; ++i) {
    c.values.at(i, 0) = static_cast<float>(3 * (i % 9) - 2 * (i / 9));
  }
  c.offsets.noise(8, -0.9f, 0.9f);
  c.logits.fill([] { return 0.0f; });
  c.grad.fill([] { return 1.0f; });
  Gradients out(c);
  deformable_backward(c.backward(out));
  for (int64_t q = 0; q < 4; ++q) {
    for (int64_t p = 0; p < 3; ++p) {
      EXPECT_NEAR(out.doffsets.at(q, 2 * p), 1.0, 1e-5);
      EXPECT_NEAR(out.doffsets.at(q, 2 * p + 1), -2.0 / 3.0, 1e-5);
    }
  }
}

TEST_P(DeformableBackwardOnTarget, SamplesOutsideHaveNoGradient) {
  Case c({{{4, 4}}, {{2, 2}}, 1, 2, 5});
  c.offsets.fill([] { return 50.0f; });
  Gradients out(c);
  deformable_backward(c.backward(out));
  EXPECT_EQ(test::largest_magnitude(out.doffsets), 0.0);
  EXPECT_EQ(test::largest_magnitude(out.dlogits), 0.0);
  for (int64_t r = 0; r < 16; ++r) EXPECT_EQ(out.dvalues.at(r, 0), 0.5f);
}

VIG_ON_EVERY_TARGET(DeformableBackwardOnTarget);

}  // namespace
}  // namespace vig
