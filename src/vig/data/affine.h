// Mirrors, turns, shears and shifts of 8-bit images. Sampling is Pillow's Image.transform: a
// pixel of the result is read at a position of the source, without antialiasing.
#pragma once

#include <array>
#include <cstdint>

#include "vig/base/recipe.h"
#include "vig/image/image.h"

namespace vig {

using Color = std::array<uint8_t, 3>;

void flip_horizontal(Image& image);

// Where the centre (x, y) of a result's pixel lies in the source:
//   source_x = xx * x + xy * y + x0,   source_y = yx * x + yy * y + y0.
// Positions are continuous: pixel (i, j) covers [i, i + 1) by [j, j + 1).
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;

  // Turns the image counterclockwise about its middle.
  static Affine rotation(double degrees, int width, int height);
};

// An image of the same size. Positions outside of the source give `fill`; near its border the
// nearest pixels stand for the missing ones. Bicubic is the cubic with a = -1, as Pillow has it
// here (its resize has -1/2). Fractions are dropped, not rounded.
Image transform(const Image& image, const Affine& affine, Interpolation interpolation, Color fill);

}  // namespace vig
