#include "vig/image/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "support/errors.h"
#include "vig/image/font.h"

namespace vig::test {
namespace {

constexpr Color kInk = {200, 100, 50};

// Where the image is not black.
std::string shape_of(const Image& image) {
  std::string shape;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) shape += image.row(y)[x * 3] != 0 ? '#' : '.';
    shape += '\n';
  }
  return shape;
}

TEST(Draw, RectanglesAreCutOff) {
  Image image(4, 3);
  fill_rectangle(image, 2, 1, 10, 10, kInk);
  EXPECT_EQ(shape_of(image), "....\n..##\n..##\n");
  fill_rectangle(image, -5, -5, 6, 6, kInk);
  EXPECT_EQ(shape_of(image), "#...\n..##\n..##\n");
  const Image before = image;
  fill_rectangle(image, 0, 0, -3, 2, kInk);
  fill_rectangle(image, 2147483647, 0, 2147483647, 2, kInk);
  EXPECT_EQ(image, before);
}

TEST(Draw, AlphaBlends) {
  Image image(1, 1);
  image.rgb = {100, 100, 100};
  fill_rectangle(image, 0, 0, 1, 1, {200, 0, 100}, 0.5);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{150, 50, 100}));
  fill_rectangle(image, 0, 0, 1, 1, {255, 255, 255}, 0);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{150, 50, 100}));
  fill_rectangle(image, 0, 0, 1, 1, {255, 254, 0}, 1);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{255, 254, 0}));
  // Rounded, and never beyond either colour.
  image.rgb = {0, 1, 255};
  fill_rectangle(image, 0, 0, 1, 1, {1, 0, 254}, 0.5);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{1, 1, 255}));
  fill_rectangle(image, 0, 0, 1, 1, {200, 0, 100}, -3);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{1, 1, 255}));
  fill_rectangle(image, 0, 0, 1, 1, {200, 0, 100}, 7);
  EXPECT_EQ(image.rgb, (std::vector<uint8_t>{200, 0, 100}));
}

TEST(Draw, Borders) {
  Image image(5, 5);
  draw_rectangle(image, 0, 0, 5, 5, 1, kInk);
  EXPECT_EQ(shape_of(image), "#####\n#...#\n#...#\n#...#\n#####\n");
  // Every pixel once, also where the border is as thick as the rectangle.
  for (const int thickness : {1, 2, 3, 9}) {
    for (const auto& [width, height] :
         std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {3, 4}, {5, 5}, {4, 2}}) {
      Image half(5, 5);
      draw_rectangle(half, 0, 0, width, height, thickness, {200, 200, 200}, 0.5);
      EXPECT_EQ(std::ranges::count_if(half.rgb, [](uint8_t v) { return v != 0 && v != 100; }), 0)
          << thickness << " " << width << "x" << height;
      EXPECT_EQ(half.row(0)[0], 100);
      EXPECT_EQ(half.row(height - 1)[(width - 1) * 3], 100);
    }
  }
}

TEST(Draw, Lines) {
  Image image(5, 3);
  draw_line(image, 0, 0, 4, 2, kInk);
  EXPECT_EQ(image.row(0)[0], 200);
  EXPECT_EQ(image.row(2)[4 * 3], 200);
  EXPECT_EQ(std::ranges::count(shape_of(image), '#'), 5);
  Image back(5, 3);
  draw_line(back, -3, 1, 20, 1, kInk);
  EXPECT_EQ(shape_of(back), ".....\n#####\n.....\n");
  Image point(5, 3);
  draw_line(point, 2, 2, 2, 2, kInk);
  EXPECT_EQ(std::ranges::count(shape_of(point), '#'), 1);
  expect_error(ErrorCode::kUsage, {"line"}, [&] { draw_line(point, 0, 0, 2000000000, 5, kInk); });
}

TEST(Draw, Masks) {
  Image image(3, 2);
  fill_mask(image, encode_mask(std::vector<uint8_t>{0, 1, 1, 0, 0, 1}, 3, 2), kInk);
  EXPECT_EQ(shape_of(image), ".##\n..#\n");
  expect_error(ErrorCode::kUsage, {"2x3", "3x2"}, [&] { fill_mask(image, Mask{2, 3, {6}}, kInk); });
}

TEST(Draw, Letters) {
  Image image(6, 10);
  draw_text(image, 0, 0, "L", kInk);
  EXPECT_EQ(shape_of(image),
            "#.....\n#.....\n#.....\n#.....\n#.....\n#.....\n#####.\n......\n......\n......\n");
  Image twice(12, 20);
  draw_text(twice, 0, 0, "L", kInk, 2);
  EXPECT_EQ(std::ranges::count(shape_of(twice), '#'), 11 * 4);
  Image two(24, 20);
  draw_text(two, 0, 0, "LL", kInk, 2);
  EXPECT_EQ(std::ranges::count(shape_of(two), '#'), 2 * 11 * 4);
  EXPECT_EQ(two.row(0)[11 * 3], 0);
  EXPECT_EQ(two.row(0)[12 * 3], 200);
  // Others than printable ASCII are boxes.
  for (const char* other : {"\xc3\xa9", "\xff", "\x7f", "\x1f"}) {
    Image box(6, 10);
    draw_text(box, 0, 0, other, kInk);
    EXPECT_EQ(shape_of(box),
              "#####.\n#...#.\n#...#.\n#...#.\n#...#.\n#...#.\n#####.\n......\n......\n......\n");
  }
  EXPECT_EQ(text_width("abc"), 18);
  EXPECT_EQ(text_width("a\xc3\xa9", 2), 24);
  // Any bytes at any position.
  draw_text(image, -100, -100, "\xff\xfe\n\t\xc3\xa9", kInk);
  draw_text(image, 3, 7, std::string(100000, 'x'), kInk, 3);
}

TEST(Draw, EveryLetterIsItsOwn) {
  std::set<std::string> rows;
  for (size_t i = 0; i < kFontRows.size(); ++i) {
    const std::string letter = kFontRows[i];
    EXPECT_EQ(letter.size(), 9u) << i;
    EXPECT_EQ(letter.find_first_not_of("0123456789abcdefghijklmnopqrstuv"), letter.npos) << i;
    EXPECT_TRUE(rows.insert(letter).second) << static_cast<char>(' ' + i);
    EXPECT_EQ(letter == "000000000", i == 0) << i;
  }
}

}  // namespace
}  // namespace vig::test
