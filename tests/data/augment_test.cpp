#include "vig/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "data/augment_fixtures.h"
#include "data/images.h"
#include "support/errors.h"
#include "vig/data/rand_augment.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

using Crop = AugmentOptions::Crop;
using namespace test;

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
      const Image image = random_image(width, height, 1);
      const Recipe recipe = square_recipe(resize, crop);
      std::vector<float> expected(static_cast<size_t>(crop * crop * 3));
      preprocess(image, recipe, expected.data());
      EXPECT_EQ(run(image, recipe, nothing(), RandomStream(1)), expected)
          << width << "x" << height << " " << resize << " " << crop;
    }
  }
}

TEST(Augment, IsAFunctionOfTheStream) {
  const Image image = random_image(50, 40, 2);
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

TEST(Augment, FlipsHalfOfTheImages) {
  const Image image = gray_image(2, {10, 20, 30, 40});
  const Recipe recipe = plain_recipe(2);
  AugmentOptions options;
  const std::vector<float> straight = run(image, recipe, nothing(), RandomStream(0));
  const std::vector<float> mirrored =
      run(gray_image(2, {20, 10, 40, 30}), recipe, nothing(), RandomStream(0));
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

TEST(ColorJitter, KeepsToItsFactors) {
  AugmentOptions options = nothing();
  options.color_jitter = 0.4f;
  // One gray: contrast and colour have nothing to do, brightness multiplies.
  const Image gray = gray_image(4, std::vector<int>(16, 100));
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
  // More brightness cannot lift white. So if it comes first, less contrast then finds the image
  // as it was, and the sum of black and white stays; if it comes last, the sum grows.
  const Image edge = gray_image(2, {0, 255, 0, 255});
  int same_sum = 0, larger_sum = 0;
  constexpr int kImages = 3000;
  for (int i = 0; i < kImages; ++i) {
    const std::vector<float> out = run(edge, plain_recipe(2), options, RandomStream(13).fork(i));
    const float black = out[0], white = out[3];
    if (black < 1 || white > 250) continue;
    same_sum += std::abs(black + white - 255) < 1.5f;
    larger_sum += black + white > 260;
  }
  // Brightness first in half of the images, and then lifted in half, and contrast below 0.96 in
  // 0.45: 0.1125, and 0.005 by brightness close to 1. Last, the product of both is bounded: 0.0243.
  const auto near = [&](int count, double p) {
    EXPECT_NEAR(count, kImages * p, 5 * std::sqrt(kImages * p * (1 - p)));
  };
  near(same_sum, 0.1175);
  near(larger_sum, 0.0243);
}

TEST(Augment, RandAugmentFillsGapsWithTheMean) {
  Recipe recipe = plain_recipe(12);
  recipe.mean = {0.5f, 0.5f, 0.5f};
  AugmentOptions options = nothing();
  options.rand_augment_ops = 1;
  options.rand_augment_probability = 1;
  const auto uneven = [&](int gray) {
    int count = 0;
    for (int i = 0; i < 200; ++i) {
      const Image image = gray_image(12, std::vector<int>(144, gray));
      const std::vector<float> out = run(image, recipe, options, RandomStream(14).fork(i));
      count += std::count(out.begin(), out.end(), out[0]) != std::ssize(out);
    }
    return count;
  };
  EXPECT_EQ(uneven(128), 0);        // gaps do not show
  EXPECT_NEAR(uneven(40), 67, 35);  // 5 of 15 operations leave gaps
}

TEST(Augment, RandAugmentGetsItsOptions) {
  Recipe recipe = plain_recipe(24);
  recipe.mean = {0.2f, 0.5f, 0.6f};
  AugmentOptions options = nothing();
  options.rand_augment_ops = 3;
  options.rand_augment_probability = 0.7f;
  options.rand_augment_magnitude = 4;
  options.rand_augment_deviation = 2;
  for (int i = 0; i < 30; ++i) {
    Image image = random_image(24, 24, 18);
    const RandomStream stream = RandomStream(21).fork(i);
    const std::vector<float> out = run(image, recipe, options, stream);
    rand_augment({3, 0.7f, 4, 2, {51, 128, 153}}, stream.fork("rand-augment"), image);
    EXPECT_EQ(out, run(image, recipe, nothing(), stream)) << i;
  }
}

// The smallest rectangle with every value that differs; `full` says whether it is all different.
struct Difference {
  int left = 0, top = 0, width = 0, height = 0;
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
  difference.left = left;
  difference.top = top;
  difference.width = std::max(0, right - left + 1);
  difference.height = std::max(0, bottom - top + 1);
  difference.full =
      static_cast<int>(difference.values.size()) == difference.width * difference.height * 3;
  return difference;
}

TEST(Erase, ARectangleOfNoiseInAQuarterOfTheImages) {
  constexpr int kSize = 48, kImages = 3000;
  const Image image = random_image(kSize, kSize, 14);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options = nothing();
  const std::vector<float> before = run(image, recipe, options, RandomStream(0));
  options.erase = 0.25f;
  int erased = 0;
  Moments noise, shape;
  for (int i = 0; i < kImages; ++i) {
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
  EXPECT_NEAR(erased, kImages * 0.25, 5 * std::sqrt(kImages * 0.25 * 0.75));
  EXPECT_NEAR(noise.mean(), 0, 5 / std::sqrt(noise.count));
  EXPECT_NEAR(noise.variance(), 1, 0.02);
  EXPECT_NEAR(shape.mean(), 0, 0.13);  // as often upright as lying
}

TEST(Erase, AreasAreSpreadEvenly) {
  constexpr int kSize = 96, kImages = 400;
  const Image image = random_image(kSize, kSize, 14);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options = nothing();
  const std::vector<float> before = run(image, recipe, options, RandomStream(0));
  options.erase = 1;
  options.erase_ratio = 1;
  Moments area;
  double largest = 0;
  for (int i = 0; i < kImages; ++i) {
    const Difference difference =
        find_difference(before, run(image, recipe, options, RandomStream(16).fork(i)), kSize);
    ASSERT_EQ(difference.width, difference.height);
    area.add(1.0 * difference.width * difference.height / (kSize * kSize));
    largest = std::max(largest, 1.0 * difference.width * difference.height / (kSize * kSize));
  }
  const double deviation = (1.0 / 3 - 0.02) / std::sqrt(12);
  EXPECT_NEAR(area.mean(), (0.02 + 1.0 / 3) / 2, 5 * deviation / std::sqrt(kImages));
  EXPECT_GT(largest, 0.3);
}

TEST(Cutout, ASquareOfTheMeanCutOffAtTheBorder) {
  constexpr int kSize = 16;
  const Image image = random_image(kSize, kSize, 16);
  const Recipe recipe = square_recipe(kSize, kSize);
  AugmentOptions options = nothing();
  const std::vector<float> before = run(image, recipe, options, RandomStream(0));
  options.cutout = 0.5f;
  std::set<int> left, right, top, bottom;  // sides of the squares at each border
  for (int i = 0; i < 1000; ++i) {
    const Difference difference =
        find_difference(before, run(image, recipe, options, RandomStream(17).fork(i)), kSize);
    ASSERT_TRUE(difference.full);
    ASSERT_EQ(std::count(difference.values.begin(), difference.values.end(), 0.0f),
              static_cast<int64_t>(difference.values.size()));
    if (difference.left == 0) left.insert(difference.width);
    if (difference.left + difference.width == kSize) right.insert(difference.width);
    if (difference.top == 0) top.insert(difference.height);
    if (difference.top + difference.height == kSize) bottom.insert(difference.height);
  }
  for (const auto& begin : {left, top}) EXPECT_EQ(begin, std::set<int>({4, 5, 6, 7, 8}));
  for (const auto& end : {right, bottom}) EXPECT_EQ(end, std::set<int>({5, 6, 7, 8}));
  options.cutout = 1;
  const std::vector<float> centre = run(image, recipe, options, RandomStream(18));
  EXPECT_EQ(centre[(8 * kSize + 8) * 3], 0.0f);
}

TEST(Augment, OperationsDoNotAffectEachOther) {
  constexpr int kSize = 24;
  const Image image = random_image(60, 50, 19);
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
    const Image image = random_image(width, height, 21);
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

TEST(Augment, InvalidOptionsAreNamed) {
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
  refused("scale-min is 0", [](auto& o) { o.scale_min = 0; });
  refused("scale-max is 1.5", [](auto& o) { o.scale_max = 1.5f; });
  refused("scale-max is 0.01", [](auto& o) { o.scale_max = 0.01f; });
  refused("ratio-min is -1", [](auto& o) { o.ratio_min = -1; });
  refused("ratio-max is 0.5", [](auto& o) { o.ratio_max = 0.5f; });
  refused("pad is nan", [&](auto& o) { o.pad = nan; });
  refused("flip is 2", [](auto& o) { o.flip = 2; });
  refused("rand-augment is -1", [](auto& o) { o.rand_augment_ops = -1; });
  refused("rand-augment-probability is 7", [](auto& o) { o.rand_augment_probability = 7; });
  refused("rand-augment-magnitude is 11", [](auto& o) { o.rand_augment_magnitude = 11; });
  refused("rand-augment-std is nan", [&](auto& o) { o.rand_augment_deviation = nan; });
  refused("color-jitter is 1.5", [](auto& o) { o.color_jitter = 1.5f; });
  refused("erase is -0.5", [](auto& o) { o.erase = -0.5f; });
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
