// The outlines of a mask.
#pragma once

#include <utility>
#include <vector>

#include "vig/image/mask.h"

namespace vig {

// Corners of pixels, x and y, in order; the first one is not repeated at the end.
using Ring = std::vector<std::pair<int, int>>;

struct MaskPolygon {
  Ring outside;             // clockwise as drawn, with y downwards
  std::vector<Ring> holes;  // the other way round
};

// Along the edges of the pixels, a polygon for each part of the ones; pixels that touch at a corner
// alone are different parts. They cover exactly the ones.
std::vector<MaskPolygon> mask_polygons(const Mask& mask);

}  // namespace vig
