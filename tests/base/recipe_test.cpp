#include "vig/base/recipe.h"

#include <gtest/gtest.h>

namespace vig::test {
namespace {

TEST(Recipe, AnotherSizeKeepsTheRatioOfResizeToCrop) {
  const Recipe recipe = {.resize = 256, .crop = 224, .mean = {1, 2, 3}};
  for (const auto& [size, resize] : {std::pair{224, 256}, {448, 512}, {20, 23}, {1, 1}, {3, 3}}) {
    Recipe expected = recipe;
    expected.crop = size;
    expected.resize = resize;
    EXPECT_EQ(recipe.with_size(size), expected) << size;
  }
  // The product does not fit 32 bits.
  EXPECT_EQ((Recipe{.resize = 65536, .crop = 65535}).with_size(65536).resize, 65537);
}

TEST(Recipe, WithoutACropTheSizeIsThatOfTheShortSide) {
  const Recipe recipe = {.resize = 800,
                         .crop = 512,
                         .framing = Framing::kPad,
                         .longest = 1333,
                         .multiple = 32,
                         .window_stride = 341};
  Recipe expected = recipe;
  expected.resize = 400;
  expected.longest = 666;
  EXPECT_EQ(recipe.with_size(400), expected);
  Recipe large = recipe;
  large.longest = 65536;
  EXPECT_EQ(large.with_size(65536).longest, 5368709);
}

}  // namespace
}  // namespace vig::test
