#include "vig/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "data/augment_fixtures.h"
#include "data/images.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

using Crop = AugmentOptions::Crop;
using Padding = AugmentOptions::Padding;
using namespace test;

TEST(ResizedCrop, AreaShapeAndPositionAreSpreadEvenly) {
  constexpr int kDraws = 10000, kSide = 2000;
  AugmentOptions square;
  square.ratio_min = square.ratio_max = 1.0f;
  AugmentOptions small;  // so small that every shape fits
  small.scale_max = 0.5f;
  Moments area, shape, x, y;
  for (int i = 0; i < kDraws; ++i) {
    const CropBox box = draw_resized_crop(square, kSide, kSide, RandomStream(5).fork(i));
    ASSERT_EQ(box.width, box.height);
    area.add(1.0 * box.width * box.height / (kSide * kSide));
    const CropBox part = draw_resized_crop(small, kSide, kSide, RandomStream(6).fork(i));
    shape.add(std::log(1.0 * part.width / part.height));
    x.add(1.0 * part.x / (kSide - part.width));
    y.add(1.0 * part.y / (kSide - part.height));
  }
  expect_uniform(area, 0.08, 1.0);
  expect_uniform(shape, std::log(3.0 / 4.0), std::log(4.0 / 3.0));
  expect_uniform(x, 0, 1);
  expect_uniform(y, 0, 1);
}

TEST(ResizedCrop, StaysInsideAndWithinItsBounds) {
  const AugmentOptions options;
  for (const auto& [width, height] : {std::pair{400, 300}, {300, 400}, {64, 200}, {9, 7}}) {
    for (int i = 0; i < 2000; ++i) {
      const CropBox box = draw_resized_crop(options, width, height, RandomStream(7).fork(i));
      ASSERT_GE(box.x, 0);
      ASSERT_GE(box.y, 0);
      ASSERT_GE(box.width, 1);
      ASSERT_GE(box.height, 1);
      ASSERT_LE(box.x + box.width, width);
      ASSERT_LE(box.y + box.height, height);
      // Sides are whole, so the bounds hold for the rectangle half a pixel larger or smaller.
      ASSERT_LE((box.width - 0.5) / (box.height + 0.5), 4.0 / 3.0);
      ASSERT_GE((box.width + 0.5) / (box.height - 0.5), 3.0 / 4.0);
      ASSERT_GE((box.width + 0.5) * (box.height + 0.5), 0.08 * width * height);
    }
  }
}

TEST(ResizedCrop, FallsBackToTheLargestCentredPart) {
  const auto box = [](const AugmentOptions& options, int width, int height) {
    return draw_resized_crop(options, width, height, RandomStream(8));
  };
  const AugmentOptions options;
  EXPECT_EQ(box(options, 1, 1), (CropBox{0, 0, 1, 1}));
  EXPECT_EQ(box(options, 1, 500), (CropBox{0, 249, 1, 1}));
  EXPECT_EQ(box(options, 3, 500), (CropBox{0, 248, 3, 4}));
  EXPECT_EQ(box(options, 500, 3), (CropBox{248, 0, 4, 3}));
  AugmentOptions wide;  // never fits into a square
  wide.scale_min = 1;
  wide.ratio_min = wide.ratio_max = 2;
  EXPECT_EQ(box(wide, 100, 100), (CropBox{0, 25, 100, 50}));
  EXPECT_EQ(box(wide, 200, 100), (CropBox{0, 0, 200, 100}));
  AugmentOptions extreme;
  extreme.ratio_min = extreme.ratio_max = 1e-4f;
  EXPECT_EQ(box(extreme, 1 << 20, 1), (CropBox{(1 << 19) - 1, 0, 1, 1}));
  extreme.ratio_min = extreme.ratio_max = 1e4f;
  EXPECT_EQ(box(extreme, 1, 1 << 20), (CropBox{0, (1 << 19) - 1, 1, 1}));
}

// A pixel's value encodes its source position.
Image numbered_image(int side) {
  std::vector<int> values(static_cast<size_t>(side * side));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  return gray_image(side, values);
}

TEST(ResizedCrop, AWindowOfTheInputSizeIsCopied) {
  AugmentOptions options = nothing();
  options.crop = Crop::kResized;
  options.scale_min = options.scale_max = 0.25f;
  options.ratio_min = options.ratio_max = 1;
  std::set<std::pair<int, int>> positions;
  for (int i = 0; i < 500; ++i) {
    const std::vector<float> out =
        run(numbered_image(8), plain_recipe(4), options, RandomStream(9).fork(i));
    const int corner = static_cast<int>(std::lround(out[0]));
    positions.insert({corner % 8, corner / 8});
    for (int k = 0; k < 16; ++k) {
      ASSERT_NEAR(out[static_cast<size_t>(k * 3)], corner + k / 4 * 8 + k % 4, 1e-4);
    }
  }
  EXPECT_EQ(positions.size(), 25u);
}

TEST(ResizedCrop, TheWholeImageIsResizedAsPillowDoes) {
  AugmentOptions options = nothing();
  options.crop = Crop::kResized;
  options.scale_min = options.scale_max = 1;
  options.ratio_min = options.ratio_max = 2;
  const Image image = random_image(40, 20, 3);
  const Image resized = resize_image(image, 24, 24, Interpolation::kBicubic);
  EXPECT_EQ(run(image, plain_recipe(24), options, RandomStream(1)),
            run(resized, plain_recipe(24), nothing(), RandomStream(1)));
}

TEST(PaddedCrop, ShiftsByUpToThePadding) {
  constexpr int kSide = 8;
  const Image image = numbered_image(kSide);
  for (const Padding padding : {Padding::kReflect, Padding::kBlack}) {
    AugmentOptions options = nothing();
    options.crop = Crop::kPadded;
    options.pad = 0.25f;
    options.padding = padding;
    std::set<std::pair<int, int>> positions;
    for (int i = 0; i < 500; ++i) {
      const std::vector<float> out =
          run(image, plain_recipe(kSide), options, RandomStream(10).fork(i));
      // With shifts of at most 2 pixel (2, 2) always comes from inside.
      const int seen = static_cast<int>(std::lround(out[(2 * kSide + 2) * 3]));
      const int dx = seen % kSide - 2, dy = seen / kSide - 2;
      ASSERT_LE(std::max(std::abs(dx), std::abs(dy)), 2);
      positions.insert({dx, dy});
      const auto folded = [](int p) { return p < 0 ? -p : p >= kSide ? 2 * kSide - 2 - p : p; };
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const int sx = folded(x + dx), sy = folded(y + dy);
          const bool outside = sx != x + dx || sy != y + dy;
          const int expected = outside && padding == Padding::kBlack ? 0 : image.row(sy)[sx * 3];
          ASSERT_NEAR(out[static_cast<size_t>((y * kSide + x) * 3)], expected, 1e-4)
              << dx << " " << dy << " at " << x << " " << y;
        }
      }
    }
    EXPECT_EQ(positions.size(), 25u);
  }
}

TEST(PaddedCrop, PaddingAsLargeAsTheImage) {
  for (const int side : {1, 2, 3}) {
    for (const Padding padding : {Padding::kReflect, Padding::kBlack}) {
      AugmentOptions options = nothing();
      options.crop = Crop::kPadded;
      options.pad = 1;
      options.padding = padding;
      bool black = false;
      for (int i = 0; i < 200; ++i) {
        const Image image = gray_image(side, std::vector<int>(side * side, 50));
        for (const float v : run(image, plain_recipe(side), options, RandomStream(11).fork(i))) {
          ASSERT_TRUE(std::abs(v - 50) < 1e-4 || v == 0) << v;
          black = black || v == 0;
        }
      }
      EXPECT_EQ(black, padding == Padding::kBlack);
    }
  }
}

}  // namespace
}  // namespace vig
