#include "vig/image/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "vig/base/error.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

TEST(Preprocess, EqualsPillowAndTorchvision) {
  int rows = 0;
  for (const auto& row : test::read_table(test::data_path("golden.tsv"))) {
    if (row.at(1) != "resized" && row.at(1) != "crop") continue;
    SCOPED_TRACE(row[0] + " " + row[1]);
    const Image image = read_image(test::data_path(row[0]).string(), test::kAsStored);
    const int width = std::stoi(row.at(2)), height = std::stoi(row.at(3));
    const Image result = row[1] == "crop"
                             ? crop_to_recipe(image, Recipe())
                             : resize_image(image, width, height, Interpolation::kBicubic);
    ASSERT_EQ(result.width, width);
    ASSERT_EQ(result.height, height);
    if (row.at(4).find(' ') == std::string::npos) {
      EXPECT_EQ(test::hash(result.rgb), std::stoull(row[4], nullptr, 16));
    } else {
      std::istringstream means(row[4]);
      constexpr int kBlock = 56;
      for (int by = 0; by < height; by += kBlock) {
        for (int bx = 0; bx < width; bx += kBlock) {
          for (int c = 0; c < 3; ++c) {
            double sum = 0, expected = -1;
            for (int y = 0; y < kBlock; ++y) {
              for (int x = 0; x < kBlock; ++x) sum += result.row(by + y)[(bx + x) * 3 + c];
            }
            means >> expected;
            EXPECT_NEAR(sum / (kBlock * kBlock), expected, 0.1) << bx << " " << by << " " << c;
          }
        }
      }
    }
    ++rows;
  }
  EXPECT_EQ(rows, 7);
}

TEST(Preprocess, PlacesAsTorchvision) {
  const Recipe recipe;
  const struct {
    int width, height;
    int64_t resized_width, resized_height, crop_x, crop_y;
  } cases[] = {
      {640, 480, 341, 256, 58, 16},     // a half rounds to even: 58.5 -> 58
      {480, 321, 382, 256, 79, 16},     //
      {576, 384, 384, 256, 80, 16},     //
      {450, 300, 384, 256, 80, 16},     //
      {448, 299, 383, 256, 80, 16},     // 79.5 -> 80
      {300, 400, 256, 341, 16, 58},     //
      {256, 256, 256, 256, 16, 16},     //
      {1, 1, 256, 256, 16, 16},         //
      {640, 12, 13653, 256, 6714, 16},  // 6714.5 -> 6714
      {1, 10000, 256, 2560000, 16, 1279888},
      {1 << 20, 1, int64_t{1} << 28, 256, (int64_t{1} << 27) - 112, 16},
  };
  for (const auto& c : cases) {
    const Placement p = place(recipe, c.width, c.height);
    const Placement expected = {
        c.width, c.height, c.resized_width, c.resized_height, c.crop_x, c.crop_y, 224, 224};
    EXPECT_EQ(p, expected) << c.width << "x" << c.height << ": " << p.resized_width << "x"
                           << p.resized_height << " " << p.crop_x << " " << p.crop_y;
  }
}

TEST(Preprocess, MapsPositionsBack) {
  const Placement p = place(Recipe(), 640, 480);
  for (const double v : {0.0, 17.25, 224.0}) {
    EXPECT_NEAR(p.input_x(p.source_x(v)), v, 1e-9);
    EXPECT_NEAR(p.input_y(p.source_y(v)), v, 1e-9);
  }
  EXPECT_NEAR(p.source_x(0), 58 * 640.0 / 341, 1e-9);
  EXPECT_NEAR(p.source_y(224), 240 * 480.0 / 256, 1e-9);
}

TEST(Preprocess, CropIsCutFromResized) {
  for (const auto& [width, height] : {std::pair{50, 33}, {33, 50}, {640, 12}, {1, 90}, {7, 7}}) {
    const Image image = test::pattern(width, height);
    for (const Interpolation interpolation : {Interpolation::kBilinear, Interpolation::kBicubic}) {
      Recipe recipe = {.resize = 40, .crop = 37, .interpolation = interpolation};
      const Placement p = place(recipe, width, height);
      const Image resized = resize_image(image, static_cast<int>(p.resized_width),
                                         static_cast<int>(p.resized_height), interpolation);
      const Image crop = crop_to_recipe(image, recipe);
      for (int y = 0; y < 37; ++y) {
        ASSERT_TRUE(std::equal(crop.row(y), crop.row(y) + crop.row_bytes(),
                               resized.row(static_cast<int>(p.crop_y) + y) + p.crop_x * 3))
            << width << "x" << height;
      }
    }
  }
}

// torchvision pads (crop - side) / 2 before and the rest after.
TEST(Preprocess, PadsWithBlack) {
  const Image image = test::pattern(9, 6);
  const Recipe recipe = {.resize = 6, .crop = 11};
  const Placement p = place(recipe, 9, 6);
  EXPECT_EQ(p.crop_x, -1);
  EXPECT_EQ(p.crop_y, -2);
  const Image crop = crop_to_recipe(image, recipe);
  for (int y = 0; y < 11; ++y) {
    for (int x = 0; x < 11; ++x) {
      const bool inside = x >= 1 && x < 10 && y >= 2 && y < 8;
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(crop.row(y)[x * 3 + c], inside ? image.row(y - 2)[(x - 1) * 3 + c] : 0);
      }
    }
  }
  // One axis padded, the other cut.
  const Recipe tall = {.resize = 6, .crop = 8};
  const Image mixed = crop_to_recipe(test::pattern(6, 30), tall);
  EXPECT_TRUE(std::all_of(mixed.row(3), mixed.row(3) + 3, [](uint8_t v) { return v == 0; }));
  EXPECT_TRUE(std::equal(mixed.row(0) + 3, mixed.row(0) + 21, test::pattern(6, 30).row(11)));
}

TEST(Preprocess, NormalisesInFloatAndWritesNothingElse) {
  const Image image = test::pattern(40, 31);
  const Recipe recipe = Recipe().with_size(20);
  EXPECT_EQ(recipe.resize, 23);
  constexpr size_t kCount = 20 * 20 * 3;
  std::vector<float> out(kCount + 8, -77.0f);
  EXPECT_EQ(preprocess(image, recipe, out.data()), place(recipe, 40, 31));
  const Image crop = crop_to_recipe(image, recipe);
  for (size_t i = 0; i < kCount; ++i) {
    const float scaled = static_cast<float>(crop.rgb[i]) / 255.0f;
    ASSERT_EQ(out[i], (scaled - recipe.mean[i % 3]) / recipe.std[i % 3]) << i;
  }
  for (size_t i = kCount; i < out.size(); ++i) ASSERT_EQ(out[i], -77.0f);
}

Recipe whole_recipe(Framing framing) {
  Recipe recipe;
  recipe.framing = framing;
  recipe.resize = 800;
  recipe.longest = 1333;
  recipe.multiple = 32;
  recipe.interpolation = Interpolation::kBilinear;
  return recipe;
}

TEST(Preprocess, PlacesTheWholeImage) {
  const struct {
    int width, height;
    int64_t scaled_width, scaled_height;
    int input_width, input_height;
  } cases[] = {
      {640, 480, 1067, 800, 1088, 800},   // 1066.67
      {480, 640, 800, 1067, 800, 1088},   //
      {500, 375, 1067, 800, 1088, 800},   //
      {640, 320, 1333, 667, 1344, 672},   // the long side decides: 666.5 rounds up
      {1333, 800, 1333, 800, 1344, 800},  // as it is
      {100000, 1, 1333, 1, 1344, 32},     // a side is at least a pixel
      {1, 1, 800, 800, 800, 800},         //
  };
  for (const auto& c : cases) {
    const Placement pad = place(whole_recipe(Framing::kPad), c.width, c.height);
    EXPECT_EQ(pad, (Placement{c.width, c.height, c.scaled_width, c.scaled_height, 0, 0,
                              c.input_width, c.input_height}))
        << c.width << "x" << c.height << ": " << pad.resized_width << "x" << pad.resized_height;
    const Placement stretch = place(whole_recipe(Framing::kStretch), c.width, c.height);
    EXPECT_EQ(stretch, (Placement{c.width, c.height, c.input_width, c.input_height, 0, 0,
                                  c.input_width, c.input_height}));
    EXPECT_NEAR(stretch.source_x(c.input_width), c.width, 1e-9 * c.width);
    EXPECT_NEAR(pad.source_y(static_cast<double>(c.scaled_height)), c.height, 1e-9 * c.height);
  }
}

TEST(Preprocess, PadsAfterNormalising) {
  const Image image = test::pattern(30, 17);
  Recipe recipe = whole_recipe(Framing::kPad);
  recipe.resize = 11;
  recipe.longest = 100;
  recipe.multiple = 8;
  const Placement p = place(recipe, 30, 17);
  ASSERT_EQ(p, (Placement{30, 17, 19, 11, 0, 0, 24, 16}));
  std::vector<float> out(24 * 16 * 3 + 1, -77.0f);
  EXPECT_EQ(preprocess(image, recipe, out.data()), p);
  std::vector<float> inner(19 * 11 * 3);
  normalise(resize_image(image, 19, 11, Interpolation::kBilinear), recipe, inner.data());
  for (size_t y = 0; y < 16; ++y) {
    for (size_t x = 0; x < 24; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        const float expected = x < 19 && y < 11 ? inner[(y * 19 + x) * 3 + c] : 0.0f;
        ASSERT_EQ(out[(y * 24 + x) * 3 + c], expected) << x << " " << y;
      }
    }
  }
  EXPECT_EQ(out.back(), -77.0f);
}

TEST(Preprocess, StretchesByASecondResize) {
  const Image image = test::pattern(30, 17);
  Recipe recipe = whole_recipe(Framing::kStretch);
  recipe.resize = 11;
  recipe.longest = 100;
  recipe.multiple = 8;
  std::vector<float> out(24 * 16 * 3), expected(24 * 16 * 3);
  EXPECT_EQ(preprocess(image, recipe, out.data()), (Placement{30, 17, 24, 16, 0, 0, 24, 16}));
  const Image once = resize_image(image, 19, 11, Interpolation::kBilinear);
  normalise(resize_image(once, 24, 16, Interpolation::kBilinear), recipe, expected.data());
  EXPECT_EQ(out, expected);
}

TEST(Preprocess, RefusesSizesThatMakeNoSense) {
  Recipe whole = whole_recipe(Framing::kPad);
  EXPECT_THROW(crop_to_recipe(test::pattern(2, 2), whole), Error);
  whole.multiple = 0;
  EXPECT_THROW(place(whole, 10, 10), Error);
  whole = whole_recipe(Framing::kStretch);
  whole.longest = 0;
  EXPECT_THROW(place(whole, 10, 10), Error);

  EXPECT_THROW(place({.resize = 0}, 10, 10), Error);
  EXPECT_THROW(place({.crop = -1}, 10, 10), Error);
  EXPECT_THROW(crop_to_recipe(Image(), Recipe()), Error);
  EXPECT_THROW(resize_image(test::pattern(2, 2), 0, 4, Interpolation::kBilinear), Error);
}

}  // namespace
}  // namespace vig
