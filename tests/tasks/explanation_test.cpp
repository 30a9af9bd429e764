// Maps over tokens: what they hold and where they are drawn.
#include "vig/tasks/explanation.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace vig::test {
namespace {

TEST(Explanation, EvidenceByHand) {
  const std::vector<float> features = {1, 2, 3, 4, 5, 6}, weight = {10, -1};
  const TokenMap map = evidence_map(features.data(), 3, 1, weight, 0.5f);
  EXPECT_EQ(map.height, 3);
  EXPECT_EQ(map.width, 1);
  EXPECT_EQ(map.values, (std::vector<float>{8.5f, 26.5f, 44.5f}));
}

TEST(Explanation, DifferencesAreOfOneGrid) {
  const TokenMap a{1, 2, {5, 7}}, b{1, 2, {1, 10}}, turned{2, 1, {1, 10}};
  EXPECT_EQ(difference(a, b).values, (std::vector<float>{4, -3}));
  expect_error(ErrorCode::kInput, {"1 x 2 and 2 x 1"}, [&] { difference(a, turned); });
}

TEST(Explanation, WeightsTimesLengths) {
  std::vector<float> weights = {2, -1};
  const std::vector<float> v = {3, 4, 99, 0, 2, 99};  // rows of two, three apart
  scale_by_norms(weights, v.data(), 2, 3);
  EXPECT_EQ(weights, (std::vector<float>{10, -2}));
}

// The part that was seen lies inside of the image; all around it is dimmed.
TEST(Explanation, MapsLieOverWhatWasSeen) {
  Image image(6, 5);
  image.rgb.assign(image.rgb.size(), 100);
  const Image drawn = draw_map(image, {1, 2, 4, 2}, {1, 1, {-3.0f}}, 0.5);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 6; ++x) {
      const bool seen = x >= 1 && x < 5 && y >= 2 && y < 4;
      const uint8_t* pixel = drawn.row(y) + 3 * x;
      EXPECT_EQ(pixel[0], seen ? 66 : 35) << x << ", " << y;  // halves of 100 and 31
      EXPECT_EQ(pixel[2], seen ? 150 : 35) << x << ", " << y;
    }
  }
  for (const auto& [seen, map] : std::vector<std::pair<SeenPart, TokenMap>>{
           {{0, 0, 4, 4}, {0, 0, {}}}, {{0, 0, 0, 4}, {1, 1, {1}}}, {{0, 0, 4, 0}, {1, 1, {1}}}}) {
    expect_error(ErrorCode::kInput, {"[explain] a map of", "expected at least 1 of each"},
                 [&, s = seen, m = map] { draw_map(image, s, m, 0.5); });
  }
}

// Colours of the image could equal those of the map.
TEST(Explanation, MapsLieOverAGreyImage) {
  Image image(2, 1);
  image.rgb = {255, 0, 0, 10, 200, 90};
  const Image drawn = draw_map(image, {0, 0, 2, 1}, {1, 1, {0.0f}}, 0.7);
  EXPECT_EQ(drawn.rgb, (std::vector<uint8_t>{76, 76, 76, 131, 131, 131}));
}

TEST(Explanation, ColourBarsHaveBothSidesWhereTheMapHas) {
  Image image(600, 400);
  image.rgb.assign(image.rgb.size(), 100);
  const SeenPart all{0, 0, 600, 400};
  const TokenMap both{1, 2, {-1.0f, 4.0f}}, one{1, 2, {0.0f, 4.0f}};
  const Image drawn = draw_explanation(image, all, both, 0.5);
  ASSERT_EQ(drawn.width, 600);
  ASSERT_EQ(drawn.height, 432);  // margins of 4, the bar of 10, a line of text
  const Image map = draw_map(image, all, both, 0.5);
  EXPECT_TRUE(std::equal(map.rgb.begin(), map.rgb.end(), drawn.rgb.begin()));
  const auto pixel = [](const Image& from, int x, int y) {
    const uint8_t* at = from.row(y) + 3 * x;
    return std::vector<int>{at[0], at[1], at[2]};
  };
  // Ends cover a grey of 128 by a half, as the strongest value covers the image.
  for (const int y : {404, 413}) {
    EXPECT_EQ(pixel(drawn, 4, y), (std::vector<int>{80, 109, 164}));
    EXPECT_EQ(pixel(drawn, 595, y), (std::vector<int>{171, 84, 84}));
    EXPECT_EQ(pixel(drawn, 299, y), (std::vector<int>{128, 128, 128}));
  }
  const std::vector<int> paper = pixel(drawn, 0, 431);
  for (const auto& [x, y] : {std::pair{3, 404}, {596, 404}, {300, 403}, {300, 414}}) {
    EXPECT_EQ(pixel(drawn, x, y), paper) << x << ", " << y;
  }
  EXPECT_EQ(pixel(draw_explanation(image, all, one, 0.5), 4, 404),
            (std::vector<int>{128, 128, 128}));
  // The values below the ends: -4 and 4, or 0 and 4.
  const auto scale_values = [&](const TokenMap& from) {
    const Image sheet = draw_explanation(image, all, from, 0);
    return std::vector<uint8_t>(sheet.row(414), sheet.rgb.data() + sheet.rgb.size());
  };
  EXPECT_EQ(scale_values(both), scale_values({1, 2, {-4.0f, 1.0f}}));
  EXPECT_NE(scale_values(both), scale_values(one));
  EXPECT_NE(scale_values(both), scale_values({1, 2, {-1.0f, 5.0f}}));
}

// As overlays are, so that the values can be read; the part that was seen grows along.
TEST(Explanation, SmallImagesAreEnlarged) {
  Image image(100, 50);
  image.rgb.assign(image.rgb.size(), 100);
  const Image drawn = draw_explanation(image, {20, 0, 40, 50}, {1, 1, {1.0f}}, 1);
  ASSERT_EQ(drawn.width, 500);
  EXPECT_EQ(drawn.row(249)[3 * 99], 35);
  EXPECT_EQ(drawn.row(249)[3 * 100], 214);
  EXPECT_EQ(drawn.row(249)[3 * 299], 214);
  EXPECT_EQ(drawn.row(249)[3 * 300], 35);
  EXPECT_EQ(draw_explanation(Image(1, 3000), {0, 0, 1, 3000}, {1, 1, {1.0f}}, 1).width, 1);
}

}  // namespace
}  // namespace vig::test
