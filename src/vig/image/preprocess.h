// An image becomes a network's input by a Recipe: with a crop, as torchvision's
// Resize -> CenterCrop -> ToTensor -> Normalize does on Pillow images; without one, the whole
// image, for networks that predict every pixel.
#pragma once

#include <cstdint>

#include "vig/base/recipe.h"
#include "vig/image/image.h"

namespace vig {

// Where the network's input lies in the image, for mapping predictions back.
// Positions are continuous: pixel (x, y) covers [x, x + 1) by [y, y + 1).
struct Placement {
  int source_width = 0, source_height = 0;
  int64_t resized_width = 0, resized_height = 0;  // at last, where it is resized twice
  // Input position = resized position - crop. Negative where the resized image is smaller than
  // the input; then `-crop` pixels before it and the rest after it are padding.
  int64_t crop_x = 0, crop_y = 0;
  int input_width = 0, input_height = 0;

  double scale_x() const { return static_cast<double>(resized_width) / source_width; }
  double scale_y() const { return static_cast<double>(resized_height) / source_height; }
  double source_x(double input_x) const {
    return (input_x + static_cast<double>(crop_x)) / scale_x();
  }
  double source_y(double input_y) const {
    return (input_y + static_cast<double>(crop_y)) / scale_y();
  }
  double input_x(double source_x) const;
  double input_y(double source_y) const;
  bool operator==(const Placement&) const = default;
};

// The recipe's geometry for an image of this size. With a crop, the short side becomes
// recipe.resize, the long one int(resize * long / short); the crop is centred, halves rounded to
// even. Without one, both sides are multiplied by the smaller of resize / short and longest / long,
// halves rounded up and at least 1, and then made the next multiples of recipe.multiple.
Placement place(const Recipe& recipe, int width, int height);

// Writes input_width * input_height * 3 floats, [row, column, channel]: (x / 255 - mean) / std.
// Padding around a crop is black, so it becomes -mean / std; that of Framing::kPad is 0. Only the
// cropped part of the image is resized.
Placement preprocess(const Image& image, const Recipe& recipe, float* out);

// Its last operation: every value of an image to (x / 255 - mean) / std.
void normalise(const Image& image, const Recipe& recipe, float* out);

// The operations before it, in 8 bits; of recipes with a crop.
Image crop_to_recipe(const Image& image, const Recipe& recipe);
Image resize_image(const Image& image, int width, int height, Interpolation interpolation);

}  // namespace vig
