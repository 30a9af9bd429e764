#include "vig/tasks/mask_polygons.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace vig {
namespace {

Mask mask_of(const std::vector<std::string>& rows) {
  std::vector<uint8_t> pixels;
  for (const std::string& row : rows) {
    for (const char c : row) pixels.push_back(c == '#');
  }
  return encode_mask(pixels, static_cast<int>(rows[0].size()), static_cast<int>(rows.size()));
}

// Whether the centre of a pixel is inside, by counting the vertical edges on its right.
bool inside(const Ring& ring, int x, int y) {
  int crossed = 0;
  for (size_t i = 0; i < ring.size(); ++i) {
    const auto [x1, y1] = ring[i];
    const auto [x2, y2] = ring[(i + 1) % ring.size()];
    EXPECT_TRUE((x1 == x2) != (y1 == y2));
    if (x1 == x2 && x1 > x && std::min(y1, y2) <= y && std::max(y1, y2) > y) ++crossed;
  }
  return crossed % 2 == 1;
}

void expect_covers(const Mask& mask) {
  const std::vector<MaskPolygon> polygons = mask_polygons(mask);
  const std::vector<uint8_t> pixels = decode_mask(mask);
  for (int y = 0; y < mask.height; ++y) {
    for (int x = 0; x < mask.width; ++x) {
      int covered = 0;
      for (const MaskPolygon& polygon : polygons) {
        bool in = inside(polygon.outside, x, y);
        for (const Ring& hole : polygon.holes) in = in && !inside(hole, x, y);
        covered += in;
      }
      EXPECT_EQ(covered, pixels[static_cast<size_t>(y * mask.width + x)]) << x << "," << y;
    }
  }
}

TEST(MaskPolygons, FollowTheEdgesOfPixels) {
  const auto polygons = mask_polygons(mask_of({"....", ".##.", ".#..", "...."}));
  ASSERT_EQ(polygons.size(), 1u);
  EXPECT_EQ(polygons[0].outside, (Ring{{1, 1}, {3, 1}, {3, 2}, {2, 2}, {2, 3}, {1, 3}}));
  EXPECT_TRUE(polygons[0].holes.empty());
  EXPECT_TRUE(mask_polygons(mask_of({"..", ".."})).empty());
  EXPECT_TRUE(mask_polygons(Mask{}).empty());
}

TEST(MaskPolygons, PixelsThatTouchAtACornerArePartsOfTheirOwn) {
  EXPECT_EQ(mask_polygons(mask_of({"#.", ".#"})).size(), 2u);
  expect_covers(mask_of({"#.#", ".#.", "#.#"}));
}

TEST(MaskPolygons, HolesBelongToThePartAroundThem) {
  const Mask mask =
      mask_of({"#######", "#.....#", "#.###.#", "#.#.#.#", "#.###.#", "#.....#", "#######"});
  const auto polygons = mask_polygons(mask);
  ASSERT_EQ(polygons.size(), 2u);
  EXPECT_EQ(polygons[0].holes.size(), 1u);
  EXPECT_EQ(polygons[1].holes.size(), 1u);
  expect_covers(mask);
  expect_covers(mask_of({"####", "#.##", "##.#", "####"}));  // holes that touch at a corner
}

TEST(MaskPolygons, CoverExactlyTheOnes) {
  uint32_t state = 7;
  for (int round = 0; round < 20; ++round) {
    std::vector<uint8_t> pixels(17 * 13);
    for (uint8_t& pixel : pixels) {
      state = state * 1664525u + 1013904223u;
      pixel = (state >> 24) % 3 != 0;
    }
    expect_covers(encode_mask(pixels, 17, 13));
  }
}

}  // namespace
}  // namespace vig
