// Drawing on images: rectangles, lines, masks and text.
#pragma once

#include <cstdint>
#include <string_view>

#include "vig/image/image.h"
#include "vig/image/label_file.h"
#include "vig/image/mask.h"

namespace vig {

// Clips to the image. `alpha` from 0 (nothing) to 1 (covers) blends
// in 8 bits: old + (color - old) * alpha, rounded.
void fill_rectangle(Image& image, int x, int y, int width, int height, Color color,
                    double alpha = 1);
// The border of the rectangle, `thickness` pixels inwards.
void draw_rectangle(Image& image, int x, int y, int width, int height, int thickness, Color color,
                    double alpha = 1);
// From pixel to pixel, both included.
void draw_line(Image& image, int x1, int y1, int x2, int y2, Color color, double alpha = 1);
// The ones of a mask of the image's size; others throw Error (usage).
void fill_mask(Image& image, const Mask& mask, Color color, double alpha = 1);

// A font of fixed width, of our own design: printable ASCII; other characters show as a box.
inline constexpr int kFontWidth = 6;    // with the gap between characters
inline constexpr int kFontHeight = 10;  // with descenders, without a gap between lines
int text_width(std::string_view text, int scale = 1);
// `x`, `y` is the upper left corner. Every dot of the font becomes scale * scale pixels.
void draw_text(Image& image, int x, int y, std::string_view text, Color color, int scale = 1);

}  // namespace vig
