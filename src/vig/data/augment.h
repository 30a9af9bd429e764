// A training image becomes a network's input: cropped, mirrored, recoloured and partly erased at
// random. Everything is a pure function of the stream, so a stream made from (seed, epoch, index)
// gives the same input for any number of workers.
#pragma once

#include "vig/base/random.h"
#include "vig/base/recipe.h"
#include "vig/image/image.h"

namespace vig {

// Operations run in the order of the fields. Each draws from a part of the stream of its own, so
// switching one off leaves the others as they were.
struct AugmentOptions {
  enum class Crop {
    kCenter,   // the recipe's own: what validation sees
    kResized,  // a part of random area and shape, resized to the input size
    kPadded,   // the recipe's own, padded and cut again at a random position: for small images
  };
  enum class Padding { kReflect, kBlack };

  Crop crop = Crop::kCenter;
  // kResized: area as a share of the image's, and width / height (its logarithm is uniform). When
  // ten tries do not fit into the image, the largest centred part of a permitted shape is taken.
  float scale_min = 0.08f, scale_max = 1.0f;
  float ratio_min = 3.0f / 4.0f, ratio_max = 4.0f / 3.0f;
  // kPadded: what is added on each side, as a share of the input size (4 pixels of 32).
  float pad = 0.125f;
  Padding padding = Padding::kReflect;

  float flip = 0.5f;  // probability

  // See RandAugmentOptions; gaps are filled with the recipe's mean. 0 operations: off.
  int rand_augment_ops = 0;
  float rand_augment_probability = 0.5f;
  float rand_augment_magnitude = 9.0f;
  float rand_augment_deviation = 0.5f;

  // Brightness, contrast and colour, in random order, by factors within 1 ± this; 0: off. The usual
  // ImageNet recipes name 0.4 but drop it where they use RandAugment; here both run if both are
  // set.
  float color_jitter = 0.0f;

  // Probability that a rectangle becomes normal noise, one draw per value, after normalisation.
  // Area as a share of the input's; height / width within [ratio, 1 / ratio], uniform logarithm.
  float erase = 0.0f;
  float erase_area_min = 0.02f, erase_area_max = 1.0f / 3.0f;
  float erase_ratio = 0.3f;

  // Side of a square, as a share of the input's, that becomes the mean colour (0 after
  // normalisation). Its middle is any pixel, so that parts may fall outside. 0: off.
  float cutout = 0.0f;
};

// Throws Error (usage) naming the first number that makes no sense.
void check_augment_options(const AugmentOptions& options);

// A part of an image: columns [x, x + width), rows [y, y + height).
struct CropBox {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const CropBox&) const = default;
};

// The part that Crop::kResized takes from an image of this size.
CropBox draw_resized_crop(const AugmentOptions& options, int width, int height,
                          RandomStream stream);

// Writes recipe.crop * recipe.crop * 3 floats, [row, column, channel], normalised as
// vig/image/preprocess.h does: with everything switched off, the same bits as preprocess.
// Throws Error as check_augment_options does, and if the image is empty.
void augment(const Image& image, const Recipe& recipe, const AugmentOptions& options,
             RandomStream stream, float* out);

}  // namespace vig
