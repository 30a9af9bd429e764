// Photometric distortion: brightness, contrast, saturation and hue of an image in 8 bits.
#pragma once

#include "vig/base/random.h"
#include "vig/image/image.h"

namespace vig {

// Hue in half degrees (0 to 179), saturation and value (0 to 255) of a pixel, each rounded.
struct Hsv {
  int hue = 0, saturation = 0, value = 0;
};
Hsv to_hsv(const uint8_t* rgb);
void to_rgb(const Hsv& hsv, uint8_t* rgb);

// Each with probability 1/2, results cut off to 0..255 and fractions dropped: add uniform [-32,
// 32]; multiply by uniform [0.5, 1.5] (a fair coin decides whether here or at the end); multiply
// the saturation by uniform [0.5, 1.5]; add -18 to 17 to the hue.
void distort_colors(const RandomStream& stream, Image& image);

}  // namespace vig
