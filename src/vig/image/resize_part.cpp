#include "vig/image/resize_part.h"

#include "vig/base/error.h"
#include "vig/kernels/resize.h"

namespace vig {

Image resize_part(const Image& image, int width, int height, const Part& part,
                  Interpolation interpolation) {
  if (image.width < 1 || image.height < 1 || image.width > kMaxResizeSide ||
      image.height > kMaxResizeSide) {
    fail_usage("an image of {}x{} pixels, expected sides of 1 to {}", image.width, image.height,
               kMaxResizeSide);
  }
  if (part.width < 1 || part.height < 1 || part.x < 0 || part.y < 0 ||
      part.width > width - part.x || part.height > height - part.y) {
    fail_usage("a part of {}x{} pixels at {}, {} of an image of {}x{}", part.width, part.height,
               part.x, part.y, width, height);
  }
  Image result(part.width, part.height);
  resize_rgb(image.rgb.data(), {image.width, width, part.x, part.width},
             {image.height, height, part.y, part.height}, interpolation, result.rgb.data());
  return result;
}

}  // namespace vig
