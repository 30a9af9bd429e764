#include "vig/data/color_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "data/images.h"

namespace vig {
namespace {

using test::gray_image;
using test::random_image;

template <typename Function>
std::vector<int> grays_after(const std::vector<int>& values, Function change) {
  Image image = gray_image(static_cast<int>(values.size()), values);
  change(image);
  std::vector<int> result;
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    EXPECT_EQ(image.rgb[i], image.rgb[i + 1]);
    EXPECT_EQ(image.rgb[i], image.rgb[i + 2]);
    result.push_back(image.rgb[i]);
  }
  return result;
}

using Values = std::vector<int>;

TEST(ColorOps, InvertPosterizeSolarize) {
  EXPECT_EQ(grays_after({0, 100, 255}, invert), Values({255, 155, 0}));
  const auto posterized = [](int bits) {
    return grays_after({183, 127, 128, 255}, [&](Image& image) { posterize(image, bits); });
  };
  EXPECT_EQ(posterized(8), Values({183, 127, 128, 255}));
  EXPECT_EQ(posterized(4), Values({176, 112, 128, 240}));
  EXPECT_EQ(posterized(1), Values({128, 0, 128, 128}));
  EXPECT_EQ(posterized(0), Values({0, 0, 0, 0}));
  const auto solarized = [](int threshold) {
    return grays_after({0, 127, 128, 255}, [&](Image& image) { solarize(image, threshold); });
  };
  EXPECT_EQ(solarized(256), Values({0, 127, 128, 255}));
  EXPECT_EQ(solarized(128), Values({0, 127, 127, 0}));
  EXPECT_EQ(solarized(0), Values({255, 128, 127, 0}));
  const auto added = [](int add) {
    return grays_after({0, 100, 127, 128, 255}, [&](Image& image) { solarize_add(image, add); });
  };
  EXPECT_EQ(added(0), Values({0, 100, 127, 128, 255}));
  EXPECT_EQ(added(50), Values({50, 150, 177, 128, 255}));
  EXPECT_EQ(added(200), Values({200, 255, 255, 128, 255}));
}

TEST(ColorOps, AutoContrastStretchesEachChannel) {
  Image image(3, 1);
  image.rgb = {0, 100, 7, 10, 151, 7, 51, 120, 7};
  auto_contrast(image);
  // 255 / 51 = 5 twice; a channel of one value has nothing to stretch.
  EXPECT_EQ(image.rgb, std::vector<uint8_t>({0, 0, 7, 50, 255, 7, 255, 100, 7}));
  EXPECT_EQ(grays_after({50, 100, 150}, auto_contrast), Values({0, 127, 255}));
  EXPECT_EQ(grays_after({42}, auto_contrast), Values({42}));
}

TEST(ColorOps, EqualizeOfKnownHistograms) {
  // Red: 512 of 10, 253 of 20, 255 of 30: bin = 765 / 255 = 3, sums 1, 513, 766.
  // Green: 1017 of 7, 3 of 9: bin = 1017 / 255 = 3, sums 1 and 1018, above 255 bins.
  // Blue: one value only.
  Image image(20, 51);
  for (size_t i = 0; i < 1020; ++i) {
    image.rgb[i * 3] = i < 512 ? 10 : i < 765 ? 20 : 30;
    image.rgb[i * 3 + 1] = i < 1017 ? 7 : 9;
    image.rgb[i * 3 + 2] = 77;
  }
  equalize(image);
  for (size_t i = 0; i < 1020; ++i) {
    ASSERT_EQ(image.rgb[i * 3], i < 512 ? 0 : i < 765 ? 171 : 255) << i;
    ASSERT_EQ(image.rgb[i * 3 + 1], i < 1017 ? 0 : 255) << i;
    ASSERT_EQ(image.rgb[i * 3 + 2], 77) << i;
  }
  EXPECT_EQ(grays_after({5, 80, 200, 9}, equalize), Values({5, 80, 200, 9}));  // bin 0
}

TEST(ColorOps, BrightnessAndContrast) {
  const auto brightened = [](float factor) {
    return grays_after({0, 33, 100, 200}, [&](Image& image) { adjust_brightness(image, factor); });
  };
  EXPECT_EQ(brightened(1.5f), Values({0, 49, 150, 255}));
  EXPECT_EQ(brightened(0.5f), Values({0, 16, 50, 100}));
  EXPECT_EQ(brightened(0.0f), Values({0, 0, 0, 0}));
  const auto contrasted = [](float factor) {  // mean 50.5, rounded to 51
    return grays_after({0, 101}, [&](Image& image) { adjust_contrast(image, factor); });
  };
  EXPECT_EQ(contrasted(2.0f), Values({0, 151}));
  EXPECT_EQ(contrasted(0.5f), Values({25, 76}));
  EXPECT_EQ(contrasted(0.0f), Values({51, 51}));
}

TEST(ColorOps, ColorMovesAwayFromLuma) {
  // Luma of (10, 20, 30): (19595 * 10 + 38470 * 20 + 7471 * 30 + 32768) / 65536 = 18.65.
  const auto colored = [](float factor) {
    Image image(1, 1);
    image.rgb = {10, 20, 30};
    adjust_color(image, factor);
    return image.rgb;
  };
  EXPECT_EQ(colored(0.0f), std::vector<uint8_t>({18, 18, 18}));
  EXPECT_EQ(colored(0.5f), std::vector<uint8_t>({14, 19, 24}));
  EXPECT_EQ(colored(2.0f), std::vector<uint8_t>({2, 22, 42}));
  EXPECT_EQ(colored(20.0f), std::vector<uint8_t>({0, 58, 255}));
  EXPECT_EQ(grays_after({0, 99, 255}, [](Image& image) { adjust_color(image, 1.7f); }),
            Values({0, 99, 255}));
  Image rounded(1, 1);  // of which it is 18.61
  rounded.rgb = {10, 20, 34};
  adjust_color(rounded, 0.0f);
  EXPECT_EQ(rounded.rgb, std::vector<uint8_t>({19, 19, 19}));
}

TEST(ColorOps, SharpnessByHand) {
  const auto sharpened = [](float factor) {
    Image image = gray_image(3, {10, 10, 10, 10, 140, 10, 10, 10, 10});
    adjust_sharpness(image, factor);
    Image expected = gray_image(3, {10, 10, 10, 10, 0, 10, 10, 10, 10});
    std::fill_n(expected.row(1) + 3, 3, image.row(1)[3]);
    EXPECT_EQ(image, expected) << factor;  // the border stays
    return int{image.row(1)[3]};
  };
  EXPECT_EQ(sharpened(0.0f), 60);  // (8 * 10 + 5 * 140) / 13
  EXPECT_EQ(sharpened(0.5f), 100);
  EXPECT_EQ(sharpened(2.0f), 220);
  EXPECT_EQ(sharpened(9.0f), 255);
}

TEST(ColorOps, SharpnessReadsOnlyOldPixels) {
  for (const auto& [width, height] : {std::pair{3, 3}, {3, 9}, {9, 3}, {7, 6}, {31, 17}}) {
    const Image image = random_image(width, height, 5);
    Image sharp = image;
    adjust_sharpness(sharp, 0.0f);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
        for (int c = 0; c < 3; ++c) {
          double sum = 4.0 * image.row(y)[x * 3 + c];
          for (int i = 0; i < 9 && !border; ++i) {
            sum += image.row(y + i / 3 - 1)[(x + i % 3 - 1) * 3 + c];
          }
          const int expected =
              border ? image.row(y)[x * 3 + c] : static_cast<int>(sum / 13.0 + 0.5);
          ASSERT_EQ(sharp.row(y)[x * 3 + c], expected)
              << width << "x" << height << " " << x << " " << y;
        }
      }
    }
  }
}

TEST(ColorOps, FactorOneChangesNothingAndUglySizesAreFine) {
  for (const auto& [width, height] : {std::pair{0, 0}, {1, 1}, {1, 7}, {2, 2}, {3, 50}, {9, 9}}) {
    const Image image = random_image(width, height, 3);
    for (const auto adjust : {adjust_brightness, adjust_contrast, adjust_color, adjust_sharpness}) {
      Image changed = image;
      adjust(changed, 1.0f);
      EXPECT_EQ(changed, image) << width << "x" << height;
      adjust(changed, 1.9f);
      EXPECT_EQ(changed.rgb.size(), image.rgb.size());
    }
    Image twice = image;
    invert(twice);
    invert(twice);
    EXPECT_EQ(twice, image);
    auto_contrast(twice);
    equalize(twice);
    EXPECT_EQ(twice.rgb.size(), image.rgb.size());
  }
}

}  // namespace
}  // namespace vig
