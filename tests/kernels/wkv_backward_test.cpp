#include "vig/kernels/backward/wkv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/scratch.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "kernels/wkv_case.h"
#include "vig/kernels/reference/wkv.h"
#include "vig/kernels/reference/wkv_backward.h"

namespace vig {
namespace {

using test::Sheet;
using test::WkvCase;

struct Gradients {
  static constexpr const char* kNames[] = {"dk", "dv", "ddecay", "dfirst"};
  explicit Gradients(const WkvCase& c)
      : sheets({Sheet(c.tokens, c.channels, 1, 3), Sheet(c.tokens, c.channels, 2, 1),
                Sheet(1, c.channels, 0, 1), Sheet(1, c.channels, 0, 3)}) {
    for (size_t g : {2, 3}) sheets[g].fill([] { return 0.5f; });
  }
  std::vector<Sheet> sheets;
};

struct Case : WkvCase {
  Case(int64_t t, int64_t c) : WkvCase(t, c), dy(t, c, 4, 1), more(wkv_backward_floats(t)) {
    dy.noise(17);
  }
  WkvBackwardArgs backward(bool released, Gradients& out) {
    Sheet unused(1, 1);
    WkvBackwardArgs back;
    back.wkv = args(released, unused);
    back.wkv.y = back.wkv.scratch = nullptr;
    back.dy = dy.data();
    back.dy_stride = dy.stride;
    back.dk = out.sheets[0].data();
    back.dk_stride = out.sheets[0].stride;
    back.dv = out.sheets[1].data();
    back.dv_stride = out.sheets[1].stride;
    back.ddecay = out.sheets[2].data();
    back.dfirst = out.sheets[3].data();
    more.spoil();
    back.scratch = more.data();
    return back;
  }
  double loss(bool released) {
    Sheet y = output();
    reference::wkv(args(released, y));
    double sum = 0.0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < channels; ++c) sum += static_cast<double>(y.at(t, c)) * dy.at(t, c);
    }
    return sum;
  }

  Sheet dy;
  test::Scratch more;
};

TEST(WkvBackwardReference, IsTheSlope) {
  for (const bool released : {false, true}) {
    for (const int64_t tokens : {1, 2, 6, 66}) {
      Case c(tokens, 2);
      c.k.noise(1, -1.0f, 1.0f);
      Gradients out(c);
      reference::wkv_backward(c.backward(released, out));
      const auto expect = [&](size_t g, Sheet& inputs, float less) {
        for (int64_t r = 0; r < inputs.rows(); r += 7) {
          for (int64_t e = 0; e < 2; ++e) {
            const double slope = test::slope(inputs.at(r, e), [&] { return c.loss(released); });
            EXPECT_NEAR(out.sheets[g].at(r, e) - less, slope, 2e-5)
                << Gradients::kNames[g] << " " << r << ", " << e << ", T " << tokens;
          }
        }
      };
      expect(0, c.k, 0.0f);
      expect(1, c.v, 0.0f);
      expect(2, c.decay, 0.5f);
      expect(3, c.first, 0.5f);
    }
  }
}

void expect_reference(Case& c, bool released, double tolerance = 5e-6) {
  Gradients fast(c), slow(c);
  wkv_backward(c.backward(released, fast));
  ASSERT_TRUE(c.more.end_untouched()) << c.name(released);
  reference::wkv_backward(c.backward(released, slow));
  for (size_t g = 0; g < 4; ++g) {
    ASSERT_LE(test::distance(fast.sheets[g], slow.sheets[g]),
              tolerance * std::max(1.0, test::largest_magnitude(slow.sheets[g])))
        << Gradients::kNames[g] << ", " << c.name(released);
    ASSERT_TRUE(fast.sheets[g].gaps_untouched()) << Gradients::kNames[g] << c.name(released);
  }
}

class WkvBackwardOnTarget : public test::OnTarget {};

TEST_P(WkvBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const bool released : {false, true}) {
    for (const int64_t tokens : {1, 2, 3, 16, 17, 31, 33, 65, 197}) {
      for (const int64_t channels : {1, 5, 16, 33}) {
        if (tokens > 40 && channels > 5) continue;  // the reference takes T^2 exponentials
        Case c(tokens, channels);
        expect_reference(c, released);
      }
    }
  }
}

// Keys and decays that would overflow or vanish, and tokens without a gradient.
TEST_P(WkvBackwardOnTarget, EqualsReferenceForExtremeValues) {
  const float keys[][2] = {{-100.0f, 100.0f}, {-2000.0f, 2000.0f}, {500.0f, 501.0f}};
  const float decays[][2] = {{-5.0f, 3.0f}, {0.0f, 0.0f}, {-3000.0f, 3000.0f}, {1e5f, 2e5f}};
  for (const auto& [k_low, k_high] : keys) {
    for (const auto& [w_low, w_high] : decays) {
      Case c(80, 9);
      c.k.noise(1, k_low, k_high);
      c.decay.noise(2, w_low, w_high);
      c.first.noise(3, -500.0f, 500.0f);
      for (int64_t t = 0; t < 80; t += 3) {
        for (int64_t e = 0; e < 9; ++e) c.dy.at(t, e) = 0.0f;
      }
      expect_reference(c, false, 3e-5);
      if (w_high <= 3.0f) expect_reference(c, true, 3e-5);
    }
  }
}

TEST_P(WkvBackwardOnTarget, ChannelRangesGiveTheSameBits) {
  Case c(70, 35);
  Gradients whole(c), parts(c);
  wkv_backward(c.backward(true, whole));
  for (int64_t first = 0; first < 35; first += 9) {
    WkvBackwardArgs args = c.backward(true, parts);
    args.wkv.channels = std::min<int64_t>(9, 35 - first);
    for (const float** p : {&args.wkv.k, &args.wkv.v, &args.wkv.decay, &args.wkv.first, &args.dy}) {
      *p += first;
    }
    for (float** p : {&args.dk, &args.dv, &args.ddecay, &args.dfirst}) *p += first;
    wkv_backward(args);
  }
  for (size_t g = 0; g < 4; ++g) {
    EXPECT_TRUE(test::same_bits(whole.sheets[g], parts.sheets[g])) << Gradients::kNames[g];
  }
}

VIG_ON_EVERY_TARGET(WkvBackwardOnTarget);

}  // namespace
}  // namespace vig
