#include "vig/weights/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vig {
namespace {

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = f16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      ASSERT_EQ(f32_to_f16(wide), half) << bits;
    }
  }
}

TEST(Half, EveryBf16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float wide = bf16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide))));
    } else {
      ASSERT_EQ(f32_to_bf16(wide), half) << bits;
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.0f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x0400), 0x1p-14f);
  EXPECT_EQ(f16_to_f32(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
  EXPECT_EQ(bf16_to_f32(0x3f80), 1.0f);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);  // rounds up to infinity
}

// The midpoint of two neighbours goes to the even one, and a hair beside it to the nearer.
template <typename Widen, typename Narrow>
void check_rounding(uint16_t last_finite, Widen widen, Narrow narrow) {
  for (uint32_t bits = 0; bits < last_finite; ++bits) {
    const auto below = static_cast<uint16_t>(bits);
    const auto above = static_cast<uint16_t>(bits + 1);
    const float middle =
        static_cast<float>((static_cast<double>(widen(below)) + widen(above)) / 2.0);
    if (middle == widen(below) || middle == widen(above)) continue;  // float has no midpoint
    ASSERT_EQ(narrow(middle), bits % 2 == 0 ? below : above) << bits;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), below) << bits;
    ASSERT_EQ(narrow(std::nextafter(middle, std::numeric_limits<float>::max())), above) << bits;
    ASSERT_EQ(narrow(-middle) & 0x7fff, narrow(middle)) << bits;
  }
}

TEST(Half, F16RoundsToNearestEven) { check_rounding(0x7bff, f16_to_f32, f32_to_f16); }
TEST(Half, Bf16RoundsToNearestEven) { check_rounding(0x7e00, bf16_to_f32, f32_to_bf16); }

TEST(Half, F16Overflow) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);  // the midpoint to 2^16 goes to even: infinity
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);  // half the smallest value: to even
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
}

}  // namespace
}  // namespace vig
