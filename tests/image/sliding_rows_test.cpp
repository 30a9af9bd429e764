#include "vig/image/sliding_rows.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "vig/image/shrink_rows.h"

namespace vig {
namespace {

Image pattern(int width, int height) {
  Image image(width, height);
  for (size_t i = 0; i < image.rgb.size(); ++i) {
    image.rgb[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
  }
  return image;
}

Image crop(const Image& image, int x, int y, int width, int height) {
  Image part(width, height);
  for (int i = 0; i < height; ++i) {
    std::copy_n(image.row(y + i) + x * 3, part.row_bytes(), part.row(i));
  }
  return part;
}

TEST(SlidingRows, GiveEveryPartOfTheRegion) {
  const Image image = pattern(37, 1100);
  const auto source = regions_of(image);
  SlidingRows rows(*source, 0, {5, 100, 30, 900});
  EXPECT_EQ(rows.width(), 30);
  EXPECT_EQ(rows.height(), 900);
  for (const auto& [first, last] :
       {std::pair{0, 64}, {40, 104}, {80, 400}, {700, 764}, {836, 900}}) {
    rows.keep(first, last);
    EXPECT_EQ(rows.cut(0, first, 30, last - first), crop(image, 5, 100 + first, 30, last - first));
    EXPECT_EQ(rows.cut(7, last - 3, 4, 2), crop(image, 12, 100 + last - 3, 4, 2));
  }
}

TEST(SlidingRows, NonsenseIsRefused) {
  const auto source = regions_of(pattern(10, 20));
  for (const ImageRegion& region :
       {ImageRegion{0, 0, 11, 20}, {0, 1, 10, 20}, {-1, 0, 5, 5}, {0, 0, 0, 5}, {10, 0, 1, 1}}) {
    test::expect_error(ErrorCode::kUsage, {"10x20"}, [&] { SlidingRows(*source, 0, region); });
  }
  test::expect_error(ErrorCode::kUsage, {"level 1"}, [&] {
    SlidingRows(*source, 1, {0, 0, 5, 5});
  });
  SlidingRows rows(*source, 0, {0, 0, 10, 20});
  rows.keep(5, 10);
  test::expect_error(ErrorCode::kUsage, {}, [&] { rows.keep(4, 10); });
  test::expect_error(ErrorCode::kUsage, {}, [&] { rows.keep(5, 21); });
  test::expect_error(ErrorCode::kUsage, {}, [&] { rows.cut(0, 4, 1, 1); });
  test::expect_error(ErrorCode::kUsage, {}, [&] { rows.cut(8, 5, 3, 1); });
}

TEST(RowShrinker, GivesMeansOfSquares) {
  Image image(5, 3);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) image.row(y)[x * 3 + c] = static_cast<uint8_t>(10 * y + x + c);
    }
  }
  RowShrinker shrinker(5, 3, 3);
  EXPECT_EQ(shrinker.factor(), 2);
  shrinker.add(image.row(0), 1);
  shrinker.add(image.row(1), 2);
  const Image small = shrinker.finish();
  ASSERT_EQ(small.width, 3);
  ASSERT_EQ(small.height, 2);
  EXPECT_EQ(small.row(0)[0], 6);   // 0, 1, 10, 11: 5.5
  EXPECT_EQ(small.row(0)[6], 9);   // 4 and 14
  EXPECT_EQ(small.row(1)[7], 25);  // one pixel
  RowShrinker same(5, 3, 5);
  same.add(image.row(0), 3);
  EXPECT_EQ(same.finish(), image);
}

}  // namespace
}  // namespace vig
