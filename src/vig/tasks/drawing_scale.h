// How large images, letters and lines are in drawings.
#pragma once

#include "vig/image/image.h"
#include "vig/image/label_file.h"

namespace vig {

// Of legends.
inline constexpr Color kPaperColor = {24, 26, 31}, kInkColor = {228, 230, 235};

struct DrawingScale {
  int image = 1;  // small images are enlarged by this factor, so that text is legible
  int text = 1;   // side of a dot of the font in pixels of the drawing
  int line = 1;   // width of lines, 1 to 8; 1 where the image is enlarged
};
// For an image with at least one pixel.
DrawingScale drawing_scale(int width, int height);

Image enlarged(const Image& image, int factor);

}  // namespace vig
