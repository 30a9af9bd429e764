#include "vig/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "data/pictures.h"
#include "support/errors.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

using Crop = AugmentOptions::Crop;
using Padding = AugmentOptions::Padding;
using test::gray_picture;
using test::random_picture;

Recipe square_recipe(int resize, int crop) {
  Recipe recipe;
  recipe.resize = resize;
  recipe.crop = crop;
  return recipe;
}

// A recipe whose output is the picture's bytes.
Recipe plain_recipe(int size) {
  Recipe recipe = square_recipe(size, size);
  recipe.mean = {0, 0, 0};
  recipe.std = {1.0f / 255, 1.0f / 255, 1.0f / 255};
  return recipe;
}

AugmentOptions nothing() {
  AugmentOptions options;
  options.flip = 0;
  return options;
}

std::vector<float> run(const Image& image, const Recipe& recipe, const AugmentOptions& options,
                       RandomStream stream) {
  std::vector<float> out(static_cast<size_t>(recipe.crop * recipe.crop * 3 + 1), 0.0f);
  out.back() = 12345.0f;
  augment(image, recipe, options, stream, out.data());
  EXPECT_EQ(out.back(), 12345.0f) << "written behind the end";
  out.pop_back();
  return out;
}

// Everything at once.
AugmentOptions everything(Crop crop) {
  AugmentOptions options;
  options.crop = crop;
  options.rand_augment_ops = 2;
  options.color_jitter = 0.4f;
  options.erase = 0.25f;
  options.cutout = 0.5f;
  return options;
}

TEST(Augment, SwitchedOffIsPreprocess) {
  for (const auto& [width, height] : {std::pair{32, 32}, {1, 1}, {50, 31}, {7, 200}}) {
    for (const auto& [resize, crop] : {std::pair{32, 32}, {36, 32}, {8, 8}, {20, 30}}) {
      const Image image = random_picture(width, height, 1);
      const Recipe recipe = square_recipe(resize, crop);
      std::vector<float> expected(static_cast<size_t>(crop * crop * 3));
      preprocess(image, recipe, expected.data());
      EXPECT_EQ(run(image, recipe, nothing(), RandomStream(1)), expected)
          << width << "x" << height << " " << resize << " " << crop;
    }
  }
}

TEST(Augment, IsAFunctionOfTheStream) {
  const Image image = random_picture(50, 40, 2);
  const Recipe recipe = square_recipe(24, 24);
  for (const Crop crop : {Crop::kCenter, Crop::kResized, Crop::kPadded}) {
    const AugmentOptions options = everything(crop);
    const auto sample = [&](uint64_t epoch, uint64_t index) {
      return run(image, recipe, options, RandomStream(3).fork("augment").fork(epoch).fork(index));
    };
    const std::vector<float> first = sample(1, 1);
    EXPECT_NE(first, sample(1, 2));
    EXPECT_NE(first, sample(2, 1));
    EXPECT_EQ(first, sample(1, 1));
  }
}

TEST(Augment, FlipsHalfOfThePictures) {
  const Image image = gray_picture(2, {10, 20, 30, 40});
  const Recipe recipe = plain_recipe(2);
  AugmentOptions options;
  const std::vector<float> straight = run(image, recipe, nothing(), RandomStream(0));
  const std::vector<float> mirrored =
      run(gray_picture(2, {20, 10, 40, 30}), recipe, nothing(), RandomStream(0));
  int flipped = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<float> out = run(image, recipe, options, RandomStream(4).fork(i));
    ASSERT_TRUE(out == straight || out == mirrored);
    flipped += out == mirrored;
  }
  EXPECT_NEAR(flipped, 2000, 160);
  options.flip = 1;
  EXPECT_EQ(run(image, recipe, options, RandomStream(4)), mirrored);
}

struct Moments {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  double mean() const { return sum / count; }
  double variance() const { return squares / count - mean() * mean(); }
};

// Uniform on [low, high]: five standard deviations of the mean, 6 % of the variance.
void expect_uniform(const Moments& moments, double low, double high) {
  const double variance = (high - low) * (high - low) / 12;
  EXPECT_NEAR(moments.mean(), (low + high) / 2, 5 * std::sqrt(variance / moments.count));
  EXPECT_NEAR(moments.variance(), variance, 0.06 * variance);
}

TEST(ResizedCrop, AreaShapeAndPlaceAreSpreadEvenly) {
  constexpr int kDraws = 10000, kSide = 2000;
  AugmentOptions square;
  square.ratio_min = square.ratio_max = 1.0f;
  AugmentOptions small;  // so small that every shape fits
  small.scale_max = 0.5f;
  Moments area, shape, x, y;
  for (int i = 0; i < kDraws; ++i) {
    const CropBox box = draw_resized_crop(square, kSide, kSide, RandomStream(5).fork(i));
    ASSERT_EQ(box.width, box.height);
    area.add(1.0 * box.width * box.height / (kSide * kSide));
    const CropBox part = draw_resized_crop(small, kSide, kSide, RandomStream(6).fork(i));
    shape.add(std::log(1.0 * part.width / part.height));
    x.add(1.0 * part.x / (kSide - part.width));
    y.add(1.0 * part.y / (kSide - part.height));
  }
  expect_uniform(area, 0.08, 1.0);
  expect_uniform(shape, std::log(3.0 / 4.0), std::log(4.0 / 3.0));
  expect_uniform(x, 0, 1);
  expect_uniform(y, 0, 1);
}

TEST(ResizedCrop, StaysInsideAndWithinItsBounds) {
  const AugmentOptions options;
  for (const auto& [width, height] : {std::pair{400, 300}, {300, 400}, {64, 200}, {9, 7}}) {
    for (int i = 0; i < 2000; ++i) {
      const CropBox box = draw_resized_crop(options, width, height, RandomStream(7).fork(i));
      ASSERT_GE(box.x, 0);
      ASSERT_GE(box.y, 0);
      ASSERT_GE(box.width, 1);
      ASSERT_GE(box.height, 1);
      ASSERT_LE(box.x + box.width, width);
      ASSERT_LE(box.y + box.height, height);
      // Sides are whole, so the bounds hold for the rectangle half a pixel larger or smaller.
      ASSERT_LE((box.width - 0.5) / (box.height + 0.5), 4.0 / 3.0);
      ASSERT_GE((box.width + 0.5) / (box.height - 0.5), 3.0 / 4.0);
      ASSERT_GE((box.width + 0.5) * (box.height + 0.5), 0.08 * width * height);
    }
  }
}

TEST(ResizedCrop, FallsBackToTheLargestCentredPart) {
  const auto box = [](const AugmentOptions& options, int width, int height) {
    return draw_resized_crop(options, width, height, RandomStream(8));
  };
  const AugmentOptions options;
  EXPECT_EQ(box(options, 1, 1), (CropBox{0, 0, 1, 1}));
  EXPECT_EQ(box(options, 1, 500), (CropBox{0, 249, 1, 1}));
  EXPECT_EQ(box(options, 3, 500), (CropBox{0, 248, 3, 4}));
  EXPECT_EQ(box(options, 500, 3), (CropBox{248, 0, 4, 3}));
  AugmentOptions wide;  // never fits into a square
  wide.scale_min = 1;
  wide.ratio_min = wide.ratio_max = 2;
  EXPECT_EQ(box(wide, 100, 100), (CropBox{0, 25, 100, 50}));
  EXPECT_EQ(box(wide, 200, 100), (CropBox{0, 0, 200, 100}));
  AugmentOptions extreme;
  extreme.ratio_min = extreme.ratio_max = 1e-4f;
  EXPECT_EQ(box(extreme, 1 << 20, 1), (CropBox{(1 << 19) - 1, 0, 1, 1}));
  extreme.ratio_min = extreme.ratio_max = 1e4f;
  EXPECT_EQ(box(extreme, 1, 1 << 20), (CropBox{0, (1 << 19) - 1, 1, 1}));
}

// A pixel's value tells where it came from.
Image numbered_picture(int side) {
  std::vector<int> values(static_cast<size_t>(side * side));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  return gray_picture(side, values);
}

TEST(ResizedCrop, AWindowOfTheInputSizeIsCopied) {
  AugmentOptions options = nothing();
  options.crop = Crop::kResized;
  options.scale_min = options.scale_max = 0.25f;
  options.ratio_min = options.ratio_max = 1;
  std::set<std::pair<int, int>> places;
  for (int i = 0; i < 500; ++i) {
    const std::vector<float> out =
        run(numbered_picture(8), plain_recipe(4), options, RandomStream(9).fork(i));
    const int corner = static_cast<int>(std::lround(out[0]));
    places.insert({corner % 8, corner / 8});
    for (int k = 0; k < 16; ++k) {
      ASSERT_NEAR(out[static_cast<size_t>(k * 3)], corner + k / 4 * 8 + k % 4, 1e-4);
    }
  }
  EXPECT_EQ(places.size(), 25u);
}

TEST(ResizedCrop, TheWholePictureIsResizedAsPillowDoes) {
  AugmentOptions options = nothing();
  options.crop = Crop::kResized;
  options.scale_min = options.scale_max = 1;
  options.ratio_min = options.ratio_max = 2;
  const Image image = random_picture(40, 20, 3);
  const Image resized = resize_image(image, 24, 24, Interpolation::kBicubic);
  EXPECT_EQ(run(image, plain_recipe(24), options, RandomStream(1)),
            run(resized, plain_recipe(24), nothing(), RandomStream(1)));
}

TEST(PaddedCrop, ShiftsByUpToThePadding) {
  constexpr int kSide = 8;
  const Image image = numbered_picture(kSide);
  for (const Padding padding : {Padding::kReflect, Padding::kBlack}) {
    AugmentOptions options = nothing();
    options.crop = Crop::kPadded;
    options.pad = 0.25f;
    options.padding = padding;
    std::set<std::pair<int, int>> places;
    for (int i = 0; i < 500; ++i) {
      const std::vector<float> out =
          run(image, plain_recipe(kSide), options, RandomStream(10).fork(i));
      // With shifts of at most 2 pixel (2, 2) always comes from inside.
      const int seen = static_cast<int>(std::lround(out[(2 * kSide + 2) * 3]));
      const int dx = seen % kSide - 2, dy = seen / kSide - 2;
      ASSERT_LE(std::max(std::abs(dx), std::abs(dy)), 2);
      places.insert({dx, dy});
      const auto folded = [](int p) { return p < 0 ? -p : p >= kSide ? 2 * kSide - 2 - p : p; };
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const int sx = folded(x + dx), sy = folded(y + dy);
          const bool outside = sx != x + dx || sy != y + dy;
          const int expected = outside && padding == Padding::kBlack ? 0 : image.row(sy)[sx * 3];
          ASSERT_NEAR(out[static_cast<size_t>((y * kSide + x) * 3)], expected, 1e-4)
              << dx << " " << dy << " at " << x << " " << y;
        }
      }
    }
    EXPECT_EQ(places.size(), 25u);
  }
}

TEST(PaddedCrop, PaddingAsLargeAsThePicture) {
  for (const int side : {1, 2, 3}) {
    for (const Padding padding : {Padding::kReflect, Padding::kBlack}) {
      AugmentOptions options = nothing();
      options.crop = Crop::kPadded;
      options.pad = 1;
      options.padding = padding;
      bool black = false;
      for (int i = 0; i < 200; ++i) {
        const Image image = gray_picture(side, std::vector<int>(side * side, 50));
        for (const float v : run(image, plain_recipe(side), options, RandomStream(11).fork(i))) {
          ASSERT_TRUE(std::abs(v - 50) < 1e-4 || v == 0) << v;
          black = black || v == 0;
        }
      }
      EXPECT_EQ(black, padding == Padding::kBlack);
    }
  }
}

TEST(ColorJitter, KeepsToItsFactors) {
  AugmentOptions options = nothing();
  options.color_jitter = 0.4f;
  // One gray: contrast and colour have nothing to do, brightness multiplies.
  const Image gray = gray_picture(4, std::vector<int>(16, 100));
  Moments brightness;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<float> out = run(gray, plain_recipe(4), options, RandomStream(12).fork(i));
    for (const float v : out) ASSERT_NEAR(v, out[0], 1e-4);
    ASSERT_GE(out[0], 59.9f);
    ASSERT_LE(out[0], 140.1f);
    brightness.add(out[0] + 0.5);  // fractions were dropped
  }
  expect_uniform(brightness, 60, 140);
}

TEST(ColorJitter, OrdersDiffer) {
  AugmentOptions options = nothing();
  options.color_jitter = 0.4f;
  // More brightness cannot lift white. So if it comes first, less contrast then finds the picture
  // as it was, and the sum of black and white stays; if it comes last, the sum grows.
  const Image edge = gray_picture(2, {0, 255, 0, 255});
  int same_sum = 0, larger_sum = 0;
  constexpr int kPictures = 3000;
  for (int i = 0; i < kPictures; ++i) {
    const std::vector<float> out = run(edge, plain_recipe(2), options, RandomStream(13).fork(i));
    const float black = out[0], white = out[3];
    if (black < 1 || white > 250) continue;
    same_sum += std::abs(black + white - 255) < 1.5f;
    larger_sum += black + white > 260;
  }
  // Brightness first in half of the pictures, and then lifted in half, and contrast below 0.96 in
  // 0.45: 0.1125, and 0.005 by brightness close to 1. Last, the product of both is bounded: 0.0243.
  const auto near = [&](int count, double p) {
    EXPECT_NEAR(count, kPictures * p, 5 * std::sqrt(kPictures * p * (1 - p)));
  };
  near(same_sum, 0.1175);
  near(larger_sum, 0.0243);
}

// The smallest rectangle with every value that differs; `full` says whether it is all different.
struct Difference {
  int width = 0, height = 0;
  bool full = true;
  std::vector<float> values;
};
Difference find_difference(const std::vector<float>& before, const std::vector<float>& after,
                           int size) {
  int left = size, right = -1, top = size, bottom = -1;
  Difference difference;
  for (int i = 0; i < size * size * 3; ++i) {
    if (before[i] == after[i]) continue;
    const int x = i / 3 % size, y = i / 3 / size;
    left = std::min(left, x);
    right = std::max(right, x);
    top = std::min(top, y);
    bottom = std::max(bottom, y);
    difference.values.push_back(after[i]);
  }
  difference.width = std::max(0, right - left + 1);
  difference.height = std::max(0, bottom - top + 1);
  difference.full =
      static_cast<int>(difference.values.size()) == difference.width * difference.height * 3;
  return difference;
}

TEST(Erase, ARectangleOfNoiseInAQuarterOfThePictures) {
  constexpr int kSize = 48, kPictures = 3000;
  const Image image = random_picture(kSize, kSize, 14);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options = nothing();
  const std::vector<float> before = run(image, recipe, options, RandomStream(0));
  options.erase = 0.25f;
  int erased = 0;
  Moments noise, shape;
  for (int i = 0; i < kPictures; ++i) {
    const Difference difference =
        find_difference(before, run(image, recipe, options, RandomStream(15).fork(i)), kSize);
    if (difference.values.empty()) continue;
    ++erased;
    ASSERT_TRUE(difference.full);
    const double width = difference.width, height = difference.height, all = kSize * kSize;
    ASSERT_LT(std::max(width, height), kSize);
    ASSERT_GE((width + 0.5) * (height + 0.5), 0.02 * all);
    ASSERT_LE((width - 0.5) * (height - 0.5), all / 3);
    ASSERT_LE(std::max((width - 0.5) / (height + 0.5), (height - 0.5) / (width + 0.5)), 1 / 0.3);
    shape.add(std::log(width / height));
    for (const float v : difference.values) noise.add(v);
  }
  EXPECT_NEAR(erased, kPictures * 0.25, 5 * std::sqrt(kPictures * 0.25 * 0.75));
  EXPECT_NEAR(noise.mean(), 0, 5 / std::sqrt(noise.count));
  EXPECT_NEAR(noise.variance(), 1, 0.02);
  EXPECT_NEAR(shape.mean(), 0, 0.13);  // as often upright as lying
}

TEST(Cutout, ASquareOfTheMeanCutOffAtTheBorder) {
  constexpr int kSize = 16;
  const Image image = random_picture(kSize, kSize, 16);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options = nothing();
  const std::vector<float> before = run(image, recipe, options, RandomStream(0));
  options.cutout = 0.5f;
  std::set<int> widths;
  for (int i = 0; i < 400; ++i) {
    const Difference difference =
        find_difference(before, run(image, recipe, options, RandomStream(17).fork(i)), kSize);
    ASSERT_TRUE(difference.full);
    ASSERT_EQ(std::count(difference.values.begin(), difference.values.end(), 0.0f),
              static_cast<int64_t>(difference.values.size()));
    widths.insert(difference.width);
  }
  EXPECT_EQ(widths, std::set<int>({4, 5, 6, 7, 8}));
  options.cutout = 1;
  const std::vector<float> centre = run(image, recipe, options, RandomStream(18));
  EXPECT_EQ(centre[(8 * kSize + 8) * 3], 0.0f);
}

TEST(Augment, AStepSwitchedOnLeavesTheOthersAsTheyWere) {
  constexpr int kSize = 24;
  const Image image = random_picture(60, 50, 19);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options;
  options.crop = Crop::kResized;
  options.color_jitter = 0.4f;
  AugmentOptions erasing = options;
  erasing.erase = 1;
  for (int i = 0; i < 50; ++i) {
    const RandomStream stream = RandomStream(20).fork(i);
    const Difference difference = find_difference(run(image, recipe, options, stream),
                                                  run(image, recipe, erasing, stream), kSize);
    EXPECT_TRUE(difference.full);
    EXPECT_LT(difference.width, kSize);
  }
}

TEST(Augment, UglySizes) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {1, 300}, {300, 1}, {3, 500}, {2, 2}, {640, 480}}) {
    const Image image = random_picture(width, height, 21);
    for (const int size : {1, 2, 5, 32}) {
      for (const Crop crop : {Crop::kCenter, Crop::kResized, Crop::kPadded}) {
        for (int i = 0; i < 10; ++i) {
          const std::vector<float> out =
              run(image, square_recipe(size, size), everything(crop), RandomStream(22).fork(i));
          for (const float v : out) ASSERT_LT(std::abs(v), 10.0f);
        }
      }
    }
  }
}

TEST(Augment, BadNumbersAreNamed) {
  const auto refused = [](const std::string& words,
                          const std::function<void(AugmentOptions&)>& set) {
    AugmentOptions options;
    set(options);
    test::expect_error(ErrorCode::kUsage, {"augmentation", words},
                       [&] { check_augment_options(options); });
    float out[3];
    test::expect_error(ErrorCode::kUsage, {words}, [&] {
      augment(Image(1, 1), square_recipe(1, 1), options, RandomStream(1), out);
    });
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  refused("smallest area of a crop is 0", [](auto& o) { o.scale_min = 0; });
  refused("largest area of a crop is 1.5", [](auto& o) { o.scale_max = 1.5f; });
  refused("largest area of a crop is 0.01", [](auto& o) { o.scale_max = 0.01f; });
  refused("smallest ratio of a crop is -1", [](auto& o) { o.ratio_min = -1; });
  refused("largest ratio of a crop is 0.5", [](auto& o) { o.ratio_max = 0.5f; });
  refused("padding is nan", [&](auto& o) { o.pad = nan; });
  refused("flip is 2", [](auto& o) { o.flip = 2; });
  refused("number of RandAugment operations is -1", [](auto& o) { o.rand_augment_ops = -1; });
  refused("RandAugment operations is 7", [](auto& o) { o.rand_augment_probability = 7; });
  refused("magnitude of RandAugment is 11", [](auto& o) { o.rand_augment_magnitude = 11; });
  refused("deviation of RandAugment is nan", [&](auto& o) { o.rand_augment_deviation = nan; });
  refused("colour jitter is 1.5", [](auto& o) { o.color_jitter = 1.5f; });
  refused("erasing is -0.5", [](auto& o) { o.erase = -0.5f; });
  refused("smallest erased area is 2", [](auto& o) { o.erase_area_min = 2; });
  refused("largest erased area is 0", [](auto& o) { o.erase_area_max = 0; });
  refused("erased ratio is 0", [](auto& o) { o.erase_ratio = 0; });
  refused("cutout is 1.5", [](auto& o) { o.cutout = 1.5f; });

  float out[3];
  for (const Crop crop : {Crop::kCenter, Crop::kResized, Crop::kPadded}) {
    test::expect_error(ErrorCode::kUsage, {"0x0"}, [&] {
      augment(Image(), square_recipe(1, 1), everything(crop), RandomStream(1), out);
    });
    test::expect_error(ErrorCode::kUsage, {"input of 0"}, [&] {
      augment(Image(1, 1), square_recipe(1, 0), everything(crop), RandomStream(1), out);
    });
  }
}

}  // namespace
}  // namespace vig
