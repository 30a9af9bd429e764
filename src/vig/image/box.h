// A rectangle in an image.
#pragma once

#include <algorithm>

namespace vig {

// Positions are continuous: pixel (x, y) covers [x, x + 1) by [y, y + 1). No corner is part of the
// size: the width is x2 - x1.
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;

  float width() const { return x2 - x1; }
  float height() const { return y2 - y1; }
  float area() const { return width() * height(); }
  bool operator==(const Box&) const = default;
};

// Overlap over union. The union counts as at least `least_union`; two empty boxes give 0.
inline float box_iou(const Box& a, const Box& b, float least_union = 0.0f) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float overlap = std::max(width, 0.0f) * std::max(height, 0.0f);
  const float both = std::max(a.area() + b.area() - overlap, least_union);
  return both > 0 ? overlap / both : 0.0f;
}

}  // namespace vig
