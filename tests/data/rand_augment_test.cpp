#include "vig/data/rand_augment.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "data/images.h"
#include "vig/data/color_ops.h"

namespace vig {
namespace {

using test::random_image;

constexpr Color kFill = {124, 116, 104};

Image applied(RandOp op, float magnitude, bool negative, const Image& image,
              Interpolation how = Interpolation::kBilinear) {
  Image result = image;
  apply_rand_op({op, magnitude, negative, how}, kFill, result);
  return result;
}

template <typename Function>
Image changed(Image image, Function change) {
  change(image);
  return image;
}

TEST(RandAugment, MagnitudeZeroLeavesTheImage) {
  const Image image = random_image(37, 20, 1);
  for (int i = 0; i < kRandOps; ++i) {
    const RandOp op = static_cast<RandOp>(i);
    if (op == RandOp::kAutoContrast || op == RandOp::kEqualize || op == RandOp::kInvert) continue;
    for (const bool negative : {false, true}) {
      const Image expected =
          op == RandOp::kPosterize ? changed(image, [](Image& x) { posterize(x, 4); }) : image;
      EXPECT_EQ(applied(op, 0, negative, image), expected) << i;
    }
  }
}

TEST(RandAugment, MagnitudesMeanWhatTheTableSays) {
  const Image image = random_image(40, 30, 2);
  const auto moved = [&](const Affine& affine, Interpolation how = Interpolation::kBilinear) {
    return transform(image, affine, how, kFill);
  };
  EXPECT_EQ(applied(RandOp::kRotate, 5, false, image), moved(Affine::rotation(15, 40, 30)));
  EXPECT_EQ(applied(RandOp::kRotate, 5, true, image), moved(Affine::rotation(-15, 40, 30)));
  EXPECT_EQ(applied(RandOp::kShearX, 10, false, image), moved({.xy = 0.3}));
  EXPECT_EQ(applied(RandOp::kShearY, 10, true, image), moved({.yx = -0.3}));
  EXPECT_EQ(applied(RandOp::kTranslateX, 10, false, image), moved({.x0 = 18}));
  EXPECT_EQ(applied(RandOp::kTranslateY, 10, true, image), moved({.y0 = -13.5}));
  EXPECT_EQ(applied(RandOp::kShearX, 5, false, image, Interpolation::kBicubic),
            moved({.xy = 0.15}, Interpolation::kBicubic));

  const auto same = [&](RandOp op, float magnitude, bool negative, auto change) {
    EXPECT_EQ(applied(op, magnitude, negative, image), changed(image, change))
        << static_cast<int>(op) << " " << magnitude;
  };
  same(RandOp::kAutoContrast, 9, false, auto_contrast);
  same(RandOp::kEqualize, 9, false, equalize);
  same(RandOp::kInvert, 9, false, invert);
  same(RandOp::kPosterize, 9, true, [](Image& x) { posterize(x, 1); });
  same(RandOp::kPosterize, 7.4f, true, [](Image& x) { posterize(x, 2); });
  same(RandOp::kPosterize, 10, false, [](Image& x) { posterize(x, 0); });
  same(RandOp::kSolarize, 9, false, [](Image& x) { solarize(x, 26); });
  same(RandOp::kSolarize, 10, false, [](Image& x) { solarize(x, 0); });
  same(RandOp::kSolarizeAdd, 5, true, [](Image& x) { solarize_add(x, 55); });
  same(RandOp::kColor, 5, false, [](Image& x) { adjust_color(x, 1.45f); });
  same(RandOp::kContrast, 5, true, [](Image& x) { adjust_contrast(x, 0.55f); });
  same(RandOp::kBrightness, 10, false, [](Image& x) { adjust_brightness(x, 1.9f); });
  same(RandOp::kSharpness, 10, true, [](Image& x) { adjust_sharpness(x, 0.1f); });
}

TEST(RandAugment, DrawsEvenlyAndAroundTheMagnitude) {
  constexpr int kDraws = 30000;
  RandomStream stream(3);
  std::array<int, kRandOps> counts = {};
  int negative = 0, bicubic = 0, cut = 0;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const RandOpCall call = draw_rand_op({}, stream);
    ++counts.at(static_cast<size_t>(call.op));
    negative += call.negative;
    bicubic += call.interpolation == Interpolation::kBicubic;
    cut += call.magnitude == 10.0f;
    ASSERT_GE(call.magnitude, 0.0f);
    ASSERT_LE(call.magnitude, 10.0f);
    sum += call.magnitude;
    squares += call.magnitude * call.magnitude;
  }
  // Five standard deviations of a binomial count.
  const auto near = [&](int count, double p) {
    EXPECT_NEAR(count, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)));
  };
  for (const int count : counts) near(count, 1.0 / kRandOps);
  near(negative, 0.5);
  near(bicubic, 0.5);
  near(cut, 0.02275);  // a normal draw above two deviations
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 9.0 - 0.5 * 0.00849, 0.015);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.49, 0.015);

  RandAugmentOptions exact;
  exact.deviation = 0;
  EXPECT_EQ(draw_rand_op(exact, stream).magnitude, 9.0f);
}

TEST(RandAugment, AppliesWithItsProbability) {
  // No operation at magnitude 9 leaves this image as it is: it has no black, no white and more
  // than 510 pixels.
  const Image image = random_image(24, 24, 4, 20, 200);
  constexpr int kImages = 2000;
  const auto share_changed = [&](int ops, float probability) {
    RandAugmentOptions options;
    options.ops = ops;
    options.probability = probability;
    int count = 0;
    for (int i = 0; i < kImages; ++i) {
      Image result = image;
      rand_augment(options, RandomStream(7).fork(i), result);
      count += result != image;
    }
    return static_cast<double>(count) / kImages;
  };
  EXPECT_EQ(share_changed(0, 1.0f), 0.0);
  EXPECT_EQ(share_changed(2, 0.0f), 0.0);
  EXPECT_EQ(share_changed(1, 1.0f), 1.0);
  EXPECT_NEAR(share_changed(1, 0.5f), 0.5, 0.055);
  EXPECT_NEAR(share_changed(2, 0.5f), 0.75, 0.05);
}

TEST(RandAugment, UglySizesKeepTheirSize) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 40}, {3, 200}, {200, 2}}) {
    const Image image = random_image(width, height, 5);
    for (int i = 0; i < kRandOps; ++i) {
      for (const Interpolation how : {Interpolation::kBilinear, Interpolation::kBicubic}) {
        const Image result = applied(static_cast<RandOp>(i), 10, i % 2 == 0, image, how);
        EXPECT_EQ(result.width, width);
        EXPECT_EQ(result.height, height);
        EXPECT_EQ(result.rgb.size(), image.rgb.size());
      }
    }
  }
}

}  // namespace
}  // namespace vig
