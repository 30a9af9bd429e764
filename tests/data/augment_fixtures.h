// What the tests of augmentation share: recipes, a guarded call, moments of what was drawn.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "vig/data/augment.h"

namespace vig::test {

inline Recipe square_recipe(int resize, int crop) {
  Recipe recipe;
  recipe.resize = resize;
  recipe.crop = crop;
  return recipe;
}

// A recipe whose output is the image's bytes.
inline Recipe plain_recipe(int size) {
  Recipe recipe = square_recipe(size, size);
  recipe.mean = {0, 0, 0};
  recipe.std = {1.0f / 255, 1.0f / 255, 1.0f / 255};
  return recipe;
}

inline AugmentOptions nothing() {
  AugmentOptions options;
  options.flip = 0;
  return options;
}

inline std::vector<float> run(const Image& image, const Recipe& recipe,
                              const AugmentOptions& options, RandomStream stream) {
  std::vector<float> out(static_cast<size_t>(recipe.crop * recipe.crop * 3 + 1), 0.0f);
  out.back() = 12345.0f;
  augment(image, recipe, options, stream, out.data());
  EXPECT_EQ(out.back(), 12345.0f) << "written behind the end";
  out.pop_back();
  return out;
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
inline void expect_uniform(const Moments& moments, double low, double high) {
  const double variance = (high - low) * (high - low) / 12;
  EXPECT_NEAR(moments.mean(), (low + high) / 2, 5 * std::sqrt(variance / moments.count));
  EXPECT_NEAR(moments.variance(), variance, 0.06 * variance);
}

}  // namespace vig::test
