#include "vig/tasks/drawing_scale.h"

#include <algorithm>
#include <cstdint>

#include "vig/image/preprocess.h"

namespace vig {

DrawingScale drawing_scale(int width, int height) {
  constexpr int kLegible = 512, kMostFactor = 8, kDot = 420, kLine = 500, kMostLine = 8;
  const int longer = std::max(width, height), shorter = std::min(width, height);
  DrawingScale scale;
  scale.image = std::clamp(kLegible / longer, 1, kMostFactor);
  // The legend of an image that is very long takes no more than a few of its heights.
  const int64_t side = std::min(int64_t{longer}, 4 * int64_t{shorter}) * scale.image;
  scale.text = static_cast<int>(std::max<int64_t>(1, (side + kDot / 2) / kDot));
  scale.line = static_cast<int>(std::clamp<int64_t>((side + kLine / 2) / kLine, 1, kMostLine));
  return scale;
}

Image enlarged(const Image& image, int factor) {
  if (factor == 1) return image;
  return resize_image(image, image.width * factor, image.height * factor, Interpolation::kBicubic);
}

}  // namespace vig
