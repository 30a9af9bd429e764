// A rectangle of a resized image, without resizing the rest of it.
#pragma once

#include "vig/base/recipe.h"
#include "vig/image/image.h"

namespace vig {

// Columns [x, x + width) and rows [y, y + height) of something larger.
struct Part {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Part&) const = default;
};

// The same bytes as resize_image to `width` x `height` and cutting `part` out of the result.
Image resize_part(const Image& image, int width, int height, const Part& part,
                  Interpolation interpolation);

}  // namespace vig
