// Antialiased resize of 8-bit RGB images, the same integers as Pillow's Image.resize.
//
// Axes: x columns, y rows; pixels are 3 interleaved bytes, rows are contiguous.
//
// For output position i of an axis, with scale = in / out and reach = support * max(scale, 1):
//   centre = (i + 0.5) * scale
//   taps   = the pixels t with trunc(centre - reach + 0.5) <= t < trunc(centre + reach + 0.5)
//   weight = filter((t + 0.5 - centre) / max(scale, 1)), normalised to sum 1, in double,
//            then rounded to a multiple of 2^-22.
// Bilinear is the triangle of support 1, bicubic is Keys' cubic with a = -1/2 and support 2.
// Columns are filtered first, then rows; each pass rounds to 8 bits.
#pragma once

#include <cstdint>

#include "vig/base/recipe.h"

namespace vig {

// One axis of a resize: `in` source pixels become `out`, of which only the window
// [first, first + count) is computed. A window gives the same bytes as cutting it from the whole.
struct ResizeAxis {
  int64_t in;
  int64_t out;
  int64_t first;
  int64_t count;
};

// Up to this many source pixels along an axis the 32-bit sums cannot overflow: rounding 2^20
// weights adds at most 2^19 to their sum, which for the cubic stays below 1.3 * 2^22.
inline constexpr int64_t kMaxResizeSide = int64_t{1} << 20;

// src: [y.in, x.in, 3]; dst: [y.count, x.count, 3]; they must not overlap.
// Requires 1 <= in <= kMaxResizeSide, 1 <= out < 2^52 and a window inside [0, out).
// Cost and scratch are linear in the source region the window touches, for any ratio.
// Allocates its scratch; one thread.
void resize_rgb(const uint8_t* src, const ResizeAxis& x, const ResizeAxis& y,
                Interpolation interpolation, uint8_t* dst);

}  // namespace vig
