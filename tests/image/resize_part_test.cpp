#include "vig/image/resize_part.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "image/fixtures.h"
#include "support/errors.h"
#include "vig/image/preprocess.h"

namespace vig::test {
namespace {

TEST(ResizePart, IsCutFromTheWhole) {
  const Image image = pattern(37, 23);
  for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
    for (const auto& [width, height] : {std::pair{20, 31}, {60, 9}, {37, 23}}) {
      const Image whole = resize_image(image, width, height, interpolation);
      for (const Part& part : {Part{0, 0, width, height}, Part{3, 2, 5, 7},
                               Part{width - 1, height - 1, 1, 1}, Part{0, 4, width, 3}}) {
        const Image cut = resize_part(image, width, height, part, interpolation);
        ASSERT_EQ(cut.width, part.width);
        ASSERT_EQ(cut.height, part.height);
        for (int y = 0; y < part.height; ++y) {
          EXPECT_TRUE(std::equal(cut.row(y), cut.row(y) + cut.row_bytes(),
                                 whole.row(part.y + y) + part.x * 3))
              << width << "x" << height << " " << part.x << " " << y;
        }
      }
    }
  }
}

TEST(ResizePart, LiesInsideOfTheWhole) {
  const Image image = pattern(5, 4);
  for (const Part& part : {Part{0, 0, 0, 1}, Part{0, 0, 1, 0}, Part{-1, 0, 1, 1}, Part{0, -1, 1, 1},
                           Part{0, 0, 11, 1}, Part{0, 0, 1, 9}, Part{10, 0, 1, 1}, Part{0, 8, 1, 1},
                           Part{6, 0, 5, 1}, Part{0, 5, 1, 4}, Part{2147483647, 0, 1, 1}}) {
    expect_error(ErrorCode::kUsage, {"of an image of 10x8"},
                 [&] { resize_part(image, 10, 8, part, Interpolation::kBilinear); });
  }
  expect_error(ErrorCode::kUsage, {"0x0"}, [] {
    resize_part(Image(), 10, 8, {0, 0, 1, 1}, Interpolation::kBilinear);
  });
}

}  // namespace
}  // namespace vig::test
