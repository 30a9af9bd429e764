// How images reach networks of dense prediction.
#pragma once

#include "vig/base/recipe.h"

namespace vig {

// The short side becomes `size`; windows of size x size slide by `stride`, 0: the whole image.
constexpr Recipe segmentation_recipe(int size, int stride) {
  Recipe recipe;
  recipe.framing = Framing::kStretch;
  recipe.resize = size;
  recipe.longest = 4 * size;
  recipe.multiple = 32;
  recipe.crop = size;
  recipe.window_stride = stride;
  recipe.interpolation = Interpolation::kBilinear;
  return recipe;
}

constexpr Recipe detection_recipe(int shortest = 800, int longest = 1333) {
  Recipe recipe;
  recipe.framing = Framing::kPad;
  recipe.resize = shortest;
  recipe.longest = longest;
  recipe.multiple = 32;
  recipe.crop = shortest;
  recipe.interpolation = Interpolation::kBilinear;
  return recipe;
}

}  // namespace vig
