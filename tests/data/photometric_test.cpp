#include "vig/data/photometric.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vig::test {
namespace {

TEST(Photometric, HsvAndBack) {
  for (int r = 0; r < 256; r += 15) {
    for (int g = 0; g < 256; g += 15) {
      for (int b = 0; b < 256; b += 15) {
        const uint8_t rgb[3] = {static_cast<uint8_t>(r), static_cast<uint8_t>(g),
                                static_cast<uint8_t>(b)};
        uint8_t back[3];
        to_rgb(to_hsv(rgb), back);
        for (int c = 0; c < 3; ++c) EXPECT_NEAR(back[c], rgb[c], 5) << r << " " << g << " " << b;
      }
    }
  }
  const uint8_t red[3] = {255, 0, 0}, green[3] = {0, 255, 0}, blue[3] = {0, 0, 200};
  EXPECT_EQ(to_hsv(red).hue, 0);
  EXPECT_EQ(to_hsv(green).hue, 60);
  EXPECT_EQ(to_hsv(blue).hue, 120);
  EXPECT_EQ(to_hsv(blue).saturation, 255);
  EXPECT_EQ(to_hsv(blue).value, 200);
}

TEST(Photometric, DistortsSometimesAndKeepsGrey) {
  Image grey(8, 8);
  std::ranges::fill(grey.rgb, uint8_t{90});
  int changed = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Image image = grey;
    distort_colors(RandomStream(seed), image);
    EXPECT_EQ(image.rgb[0], image.rgb[1]) << "grey has neither saturation nor hue";
    changed += image == grey ? 0 : 1;
    Image again = grey;
    distort_colors(RandomStream(seed), again);
    EXPECT_EQ(again, image);
  }
  EXPECT_GT(changed, 50) << "brightness or contrast of three quarters";
  EXPECT_LT(changed, 95);
}

TEST(Photometric, StaysWithinItsBounds) {
  // Brightness adds 32 at most, contrast multiplies by 0.5 to 1.5, and nothing is clipped.
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Image image(1, 1);
    image.rgb = {90, 0, 0};
    distort_colors(RandomStream(seed), image);
    const Hsv hsv = to_hsv(image.rgb.data());
    EXPECT_GE(hsv.value, (90 - 32) / 2 - 1) << seed;
    EXPECT_LE(hsv.value, (90 + 32) * 3 / 2) << seed;
    EXPECT_LE(std::min(hsv.hue, 180 - hsv.hue), 18 + 2) << seed << ": reds have hues around 0";
  }
}

// Both ends of every range are drawn, and nothing beyond them.
TEST(Photometric, UsesAllOfItsRanges) {
  Image grey(1, 1), red(1, 1), dull(1, 1);
  int darkest = 255, brightest = 0, back = 0, forth = 0, least = 255, most = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    grey.rgb = {100, 100, 100};
    distort_colors(RandomStream(seed), grey);
    darkest = std::min(darkest, int{grey.rgb[0]});
    brightest = std::max(brightest, int{grey.rgb[0]});
    red.rgb = {120, 0, 0};
    distort_colors(RandomStream(seed), red);
    const int hue = to_hsv(red.rgb.data()).hue;
    back = std::max(back, hue > 90 ? 180 - hue : 0);
    forth = std::max(forth, hue > 90 ? 0 : hue);
    dull.rgb = {200, 100, 100};
    distort_colors(RandomStream(seed), dull);
    const int saturation = to_hsv(dull.rgb.data()).saturation;
    if (grey.rgb[0] == 100 && dull.rgb[0] == 200) {  // neither brightness nor contrast
      least = std::min(least, saturation);
      most = std::max(most, saturation);
    }
  }
  EXPECT_NEAR(darkest, (100 - 32) / 2, 6);
  EXPECT_NEAR(brightest, (100 + 32) * 3 / 2, 12);
  EXPECT_NEAR(back, 18, 2);
  EXPECT_NEAR(forth, 17, 2);
  EXPECT_NEAR(least, 64, 4);  // of 128
  EXPECT_NEAR(most, 192, 4);
}

}  // namespace
}  // namespace vig::test
