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

// The part that was seen lies inside of the picture; all around it is dimmed.
TEST(Explanation, MapsLieOverWhatWasSeen) {
  Image picture(6, 5);
  picture.rgb.assign(picture.rgb.size(), 100);
  const Image drawn = draw_map(picture, {1, 2, 4, 2}, {1, 1, {-3.0f}}, 0.5);
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
                 [&, s = seen, m = map] { draw_map(picture, s, m, 0.5); });
  }
}

}  // namespace
}  // namespace vig::test
