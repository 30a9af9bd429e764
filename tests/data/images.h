// Small images for the augmentation tests.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/base/random.h"
#include "vig/image/image.h"

namespace vig::test {

// Gray, so one number per pixel.
inline Image gray_image(int width, const std::vector<int>& values) {
  Image image(width, static_cast<int>(values.size()) / width);
  for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(values[i / 3]);
  return image;
}

// Values from `low` to `high`.
inline Image random_image(int width, int height, uint64_t seed, int low = 0, int high = 255) {
  Image image(width, height);
  RandomStream stream(seed);
  for (uint8_t& v : image.rgb) {
    v = static_cast<uint8_t>(low + static_cast<int>(stream.below(high - low + 1)));
  }
  return image;
}

}  // namespace vig::test
