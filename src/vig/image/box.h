// Overlap of rectangles in an image.
#pragma once

#include <algorithm>

#include "vig/image/image.h"

namespace vig {

// Overlap over union. The union counts as at least `least_union`; two empty boxes give 0.
inline float box_iou(const Box& a, const Box& b, float least_union = 0.0f) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float overlap = std::max(width, 0.0f) * std::max(height, 0.0f);
  const float both = std::max(a.area() + b.area() - overlap, least_union);
  return both > 0 ? overlap / both : 0.0f;
}

}  // namespace vig
