// Colour operations on 8-bit images, in place, with the integers of Pillow's ImageOps and
// ImageEnhance. Channels are treated alike and apart unless said otherwise. None allocates in
// proportion to the image except adjust_sharpness, which needs a copy of two rows.
#pragma once

#include "vig/image/image.h"

namespace vig {

void invert(Image& image);  // 255 - v

// Stretches each channel so that its darkest value becomes 0 and its brightest 255.
void auto_contrast(Image& image);

// Evens out each channel's histogram. With bin = (pixels - those of the brightest value) / 255 in
// integers, v becomes (bin / 2 + pixels darker than v) / bin; a channel whose bin is 0
// stays.
void equalize(Image& image);

// Keeps the `bits` (0 to 8) highest bits of every value.
void posterize(Image& image, int bits);

// 255 - v where v >= threshold (0 to 256).
void solarize(Image& image, int threshold);

// v + add, at most 255, where v < 128.
void solarize_add(Image& image, int add);

// The four below move each value away from (factor > 1) or towards (factor < 1) what a dull version
// of the image has there: dull + factor * (v - dull), cut off to 0..255, fractions dropped.
// Factor 1 changes nothing, factor 0 leaves the dull version. Factors are not negative.
void adjust_brightness(Image& image, float factor);  // dull: black
void adjust_contrast(Image& image, float factor);    // dull: the mean luma of the image
void adjust_color(Image& image, float factor);       // dull: each pixel's luma
// dull: the mean of 3x3 pixels, the middle one counted five times; border pixels stay.
void adjust_sharpness(Image& image, float factor);

}  // namespace vig
