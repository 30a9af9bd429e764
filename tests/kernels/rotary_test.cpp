#include "vig/kernels/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/rotary.h"

namespace vig {
namespace {

using test::Sheet;

class RotaryOnTarget : public test::OnTarget {};

TEST_P(RotaryOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t rows : {0, 1, 3}) {
    for (const int64_t channels : {2, 6, 16, 30, 34}) {
      for (const bool in_place : {false, true}) {
        Sheet x(rows, channels, 3, 1), cos(rows, channels), sin(rows, channels);
        Sheet fast(rows, channels, 3, 1), slow(rows, channels, 3, 1);
        x.noise(1, -3.0f, 3.0f), fast.noise(1, -3.0f, 3.0f);
        cos.noise(2), sin.noise(3);
        RotaryArgs args;
        args.in = in_place ? fast.data() : x.data();
        args.in_stride = x.stride;
        args.cos = cos.data();
        args.sin = sin.data();
        args.rows = rows;
        args.channels = channels;
        args.out = fast.data();
        args.out_stride = fast.stride;
        rotary(args);
        args.in = x.data();
        args.out = slow.data();
        reference::rotary(args);
        ASSERT_LE(test::distance(fast, slow), 5e-7) << rows << " x " << channels;
        ASSERT_TRUE(fast.gaps_untouched());
      }
    }
  }
}

// With the tables of an angle it turns the pair (1, 0) to (cos, sin), and keeps its length.
TEST_P(RotaryOnTarget, TurnsPairs) {
  const float x[] = {1.0f, 0.0f, 0.0f, 2.0f};
  const float cos[] = {0.6f, 0.6f, 0.0f, 0.0f}, sin[] = {0.8f, 0.8f, 1.0f, 1.0f};
  float signed_sin[4], y[4];
  rotary_signs(sin, 4, signed_sin);
  RotaryArgs args{x, 4, cos, signed_sin, 1, 4, y, 4};
  rotary(args);
  const float want[] = {0.6f, 0.8f, -2.0f, 0.0f};
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(y[i], want[i]) << i;
}

VIG_ON_EVERY_TARGET(RotaryOnTarget);

}  // namespace
}  // namespace vig
