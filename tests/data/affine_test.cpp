#include "vig/data/affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "data/images.h"

namespace vig {
namespace {

using test::gray_image;
using test::random_image;

constexpr Color kGrayFill = {9, 9, 9};
constexpr Interpolation kBoth[] = {Interpolation::kBilinear, Interpolation::kBicubic};

// One row of grays, read at x * xx + x0.
std::vector<int> row_after(const std::vector<int>& values, Affine affine, Interpolation how) {
  const Image result =
      transform(gray_image(static_cast<int>(values.size()), values), affine, how, kGrayFill);
  std::vector<int> grays;
  for (size_t i = 0; i < result.rgb.size(); i += 3) grays.push_back(result.rgb[i]);
  return grays;
}

using Values = std::vector<int>;

TEST(Affine, FlipMirrorsEveryRow) {
  Image image = gray_image(3, {1, 2, 3, 4, 5, 6});
  flip_horizontal(image);
  EXPECT_EQ(image, gray_image(3, {3, 2, 1, 6, 5, 4}));
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 5}, {2, 3}, {8, 8}, {33, 7}}) {
    const Image original = random_image(width, height, 1);
    Image flipped = original;
    flip_horizontal(flipped);
    EXPECT_EQ(flipped.row(0)[2],
              original.row(0)[(width - 1) * 3 + 2]);  // channels keep their order
    flip_horizontal(flipped);
    EXPECT_EQ(flipped, original);
  }
}

TEST(Affine, IdentityAndWholePixelShiftsAreExact) {
  for (const Interpolation how : kBoth) {
    for (const auto& [width, height] : {std::pair{1, 1}, {1, 9}, {6, 2}, {13, 11}}) {
      const Image image = random_image(width, height, 2);
      EXPECT_EQ(transform(image, {}, how, kGrayFill), image);
      EXPECT_EQ(transform(image, Affine::rotation(0, width, height), how, kGrayFill), image);
      for (const auto& [dx, dy] : {std::pair{1, 0}, {0, -1}, {-3, 2}, {100, 0}}) {
        const Image moved = transform(image, {.x0 = 1.0 * dx, .y0 = 1.0 * dy}, how, kGrayFill);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            const int sx = x + dx, sy = y + dy;
            const bool inside = sx >= 0 && sx < width && sy >= 0 && sy < height;
            for (int c = 0; c < 3; ++c) {
              ASSERT_EQ(moved.row(y)[x * 3 + c], inside ? image.row(sy)[sx * 3 + c] : kGrayFill[0]);
            }
          }
        }
      }
    }
  }
}

TEST(Affine, BilinearByHand) {
  const Interpolation how = Interpolation::kBilinear;
  EXPECT_EQ(row_after({10, 20, 40}, {.x0 = 0.5}, how), Values({15, 30, 9}));
  EXPECT_EQ(row_after({10, 20, 40}, {.x0 = 0.25}, how), Values({12, 25, 40}));  // 12.5 is cut
  EXPECT_EQ(row_after({10, 20, 40}, {.x0 = -0.25}, how), Values({10, 17, 35}));
  EXPECT_EQ(row_after({10, 20, 40}, {.xx = 2}, how), Values({15, 9, 9}));
  // A shear moves the row by half a pixel at its middle line.
  EXPECT_EQ(row_after({10, 20, 40}, {.xy = 1}, how), Values({15, 30, 9}));
  // Rows count like columns: a quarter from each row to the next, the last one repeated.
  const Image columns = transform(gray_image(1, {10, 20, 40}), {.y0 = 0.25}, how, kGrayFill);
  EXPECT_EQ(columns, gray_image(1, {12, 25, 40}));
}

TEST(Affine, BicubicByHand) {
  // In the middle the weights are -1/8, 5/8, 5/8, -1/8; the border repeats.
  const Interpolation how = Interpolation::kBicubic;
  EXPECT_EQ(row_after({0, 100, 100, 0}, {.x0 = 0.5}, how), Values({50, 125, 50, 9}));
  EXPECT_EQ(row_after({0, 255, 255, 0}, {.x0 = 0.5}, how), Values({127, 255, 127, 9}));
  EXPECT_EQ(row_after({255, 0, 0, 255}, {.x0 = 0.5}, how), Values({127, 0, 127, 9}));
  // A quarter: -9/64, 57/64, 19/64, -3/64.
  EXPECT_EQ(row_after({64, 128, 0, 64}, {.x0 = 0.25}, how).at(1), 102);
}

TEST(Affine, QuarterTurnsAreExactAndCounterclockwise) {
  for (const Interpolation how : kBoth) {
    for (const int side : {1, 2, 3, 8, 17}) {
      const Image image = random_image(side, side, 4);
      const Image turned = transform(image, Affine::rotation(90, side, side), how, kGrayFill);
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {  // the right column becomes the top row
          ASSERT_EQ(turned.row(y)[x * 3], image.row(x)[(side - 1 - y) * 3]) << side;
        }
      }
      EXPECT_EQ(transform(turned, Affine::rotation(-90, side, side), how, kGrayFill), image);
      EXPECT_EQ(transform(image, Affine::rotation(360, side, side), how, kGrayFill), image);
    }
    Image half = transform(random_image(5, 4, 4), Affine::rotation(180, 5, 4), how, kGrayFill);
    std::reverse(half.rgb.begin(), half.rgb.end());
    for (size_t i = 0; i < half.rgb.size(); i += 3) std::swap(half.rgb[i], half.rgb[i + 2]);
    EXPECT_EQ(half, random_image(5, 4, 4));
  }
}

// Fractions are dropped, so the least error in the sums would show.
TEST(Affine, OneColorStaysThatColor) {
  RandomStream stream(6);
  for (int i = 0; i < 60; ++i) {
    const int gray = static_cast<int>(stream.below(256));
    const Image image = gray_image(23, std::vector<int>(23 * 19, gray));
    Affine affine = Affine::rotation(stream.uniform(-180, 180), 23, 19);
    affine.xy += stream.uniform(-0.3f, 0.3f);
    affine.x0 += stream.uniform(-5, 5);
    const Image moved = transform(image, affine, kBoth[i % 2], kGrayFill);
    int filled = 0;
    for (const uint8_t v : moved.rgb) {
      if (v == gray) continue;
      ASSERT_EQ(v, kGrayFill[0]);
      ++filled;
    }
    EXPECT_LT(filled, 23 * 19 * 3);
  }
}

TEST(Affine, NanPositionsAreFilled) {
  const Image image = random_image(3, 3, 1);
  const Image filled = gray_image(3, std::vector<int>(9, kGrayFill[0]));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1e300}) {
    EXPECT_EQ(transform(image, {.x0 = bad}, Interpolation::kBicubic, kGrayFill), filled);
  }
}

}  // namespace
}  // namespace vig
