// RandAugment (Cubuk et al., 2020): a few operations drawn at random, all of about one strength.
// The set and the scales are those ImageNet recipes call "increasing": every operation that has a
// strength gets more severe as it grows.
#pragma once

#include "vig/base/random.h"
#include "vig/base/recipe.h"
#include "vig/data/affine.h"
#include "vig/image/image.h"

namespace vig {

// What a magnitude m of 0 to 10 means to each; ± takes either sign.
enum class RandOp {
  kAutoContrast,  // no strength
  kEqualize,      // no strength
  kInvert,        // no strength
  kRotate,        // ± 3 m degrees
  kPosterize,     // 4 - trunc(0.4 m) bits: four even at 0
  kSolarize,      // threshold 256 - trunc(25.6 m)
  kSolarizeAdd,   // + trunc(11 m)
  kColor,         // factor 1 ± 0.09 m, at least 0.1, as the next three
  kContrast,
  kBrightness,
  kSharpness,
  kShearX,      // ± 0.03 m
  kShearY,      // ± 0.03 m
  kTranslateX,  // ± 0.045 m of the width
  kTranslateY,  // ± 0.045 m of the height
};
inline constexpr int kRandOps = 15;

struct RandAugmentOptions {
  int ops = 2;               // drawn per image, with repetition
  float probability = 0.5f;  // of each drawn one to be applied
  float magnitude = 9.0f;    // mean of a normal distribution, cut off to 0..10
  float deviation = 0.5f;    // its standard deviation
  Color fill = {0, 0, 0};    // where a moved image leaves a gap
};

struct RandOpCall {
  RandOp op = RandOp::kAutoContrast;
  float magnitude = 0;                                     // 0 to 10
  bool negative = false;                                   // the sign, where there is one
  Interpolation interpolation = Interpolation::kBilinear;  // for those that move pixels
};

RandOpCall draw_rand_op(const RandAugmentOptions& options, RandomStream& stream);
void apply_rand_op(const RandOpCall& call, Color fill, Image& image);

void rand_augment(const RandAugmentOptions& options, RandomStream stream, Image& image);

}  // namespace vig
