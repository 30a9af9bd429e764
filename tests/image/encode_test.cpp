#include "vig/image/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "support/errors.h"
#include "vig/image/decode.h"

namespace vig::test {
namespace {

Image slope(int width, int height) {
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.row(y)[3 * x] = static_cast<uint8_t>(std::min(x, 255));
      image.row(y)[3 * x + 1] = static_cast<uint8_t>(std::min(y, 255));
      image.row(y)[3 * x + 2] = 128;
    }
  }
  return image;
}

TEST(Encode, ComesBackNearlyTheSame) {
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 200}, {200, 3}, {97, 61}}) {
    const Image image = slope(width, height);
    const Image back = decode_image(encode_jpeg(image, 95), "encoded");
    ASSERT_EQ(back.width, width);
    ASSERT_EQ(back.height, height);
    int64_t difference = 0;
    for (size_t i = 0; i < image.rgb.size(); ++i) {
      difference += std::abs(int{image.rgb[i]} - int{back.rgb[i]});
    }
    EXPECT_LE(difference, static_cast<int64_t>(4 * image.rgb.size())) << width << " " << height;
  }
}

TEST(Encode, QualityCostsBytes) {
  const Image image = slope(200, 200);
  EXPECT_LT(encode_jpeg(image, 30).size(), encode_jpeg(image, 95).size());
}

TEST(Encode, RefusesWhatTheFormatCannotHold) {
  expect_error(ErrorCode::kUsage, {"0x0", "65500"}, [] { encode_jpeg(Image()); });
  expect_error(ErrorCode::kUsage, {"65501x1"}, [] { encode_jpeg(Image(65501, 1)); });
  expect_error(ErrorCode::kUsage, {"1x65501"}, [] { encode_jpeg(Image(1, 65501)); });
  EXPECT_EQ(decode_image(encode_jpeg(Image(65500, 1)), "x").width, 65500);
}

TEST(Encode, Thumbnails) {
  EXPECT_EQ(thumbnail(slope(100, 40), 100), slope(100, 40));
  const Image wide = thumbnail(slope(400, 100), 100), tall = thumbnail(slope(10, 1000), 50);
  EXPECT_EQ(wide.width, 100);
  EXPECT_EQ(wide.height, 25);
  EXPECT_EQ(tall.width, 1);
  EXPECT_EQ(tall.height, 50);
  EXPECT_EQ(thumbnail(slope(400, 102), 100).height, 26);  // 25.5
  EXPECT_LT(wide.row(12)[0], wide.row(12)[3 * 99]);       // not mirrored
}

}  // namespace
}  // namespace vig::test
