#include "vig/tasks/mask_polygons.h"

#include <cstdint>

namespace vig {
namespace {

// Walks along the edges between ones, on the right hand, and zeros.
class Tracer {
 public:
  explicit Tracer(const Mask& mask)
      : width_(mask.width),
        height_(mask.height),
        pixels_(decode_mask(mask)),
        traced_(pixels_.size(), 0) {}

  // Each ring goes right along the upper edge of some pixel.
  std::vector<Ring> rings() {
    std::vector<Ring> rings;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        if (one(x, y) && !one(x, y - 1) && traced_[index(x, y)] == 0) rings.push_back(trace(x, y));
      }
    }
    return rings;
  }

 private:
  size_t index(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
  }
  bool one(int x, int y) const {
    return x >= 0 && y >= 0 && x < width_ && y < height_ && pixels_[index(x, y)] != 0;
  }

  Ring trace(int x, int y) {
    // Right, down, left, up; and the pixels ahead, on either hand, of the corner reached.
    constexpr int kStepX[] = {1, 0, -1, 0}, kStepY[] = {0, 1, 0, -1};
    constexpr int kLeftX[] = {0, 0, -1, -1}, kLeftY[] = {-1, 0, 0, -1};
    constexpr int kRightX[] = {0, -1, -1, 0}, kRightY[] = {0, 0, -1, -1};
    const int first_x = x, first_y = y;
    int heading = 0;
    Ring ring = {{x, y}};
    for (;;) {
      if (heading == 0) traced_[index(x, y)] = 1;
      x += kStepX[heading];
      y += kStepY[heading];
      int next = heading;
      if (!one(x + kRightX[heading], y + kRightY[heading])) {
        next = (heading + 1) % 4;
      } else if (one(x + kLeftX[heading], y + kLeftY[heading])) {
        next = (heading + 3) % 4;
      }
      if (x == first_x && y == first_y && next == 0) break;
      if (next != heading) ring.emplace_back(x, y);
      heading = next;
    }
    return ring;
  }

  int width_, height_;
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> traced_;  // upper edges
};

// Twice the area, positive for rings that run clockwise as drawn.
int64_t signed_area(const Ring& ring) {
  int64_t area = 0;
  for (size_t i = 0; i < ring.size(); ++i) {
    const auto& [x1, y1] = ring[i];
    const auto& [x2, y2] = ring[(i + 1) % ring.size()];
    area += int64_t{x1} * y2 - int64_t{x2} * y1;
  }
  return area;
}

// Whether the centre of a pixel lies inside.
bool contains(const Ring& ring, int pixel_x, int pixel_y) {
  bool inside = false;
  for (size_t i = 0; i < ring.size(); ++i) {
    const auto& [x1, y1] = ring[i];
    const auto& [x2, y2] = ring[(i + 1) % ring.size()];
    // Edges are vertical or horizontal; vertical ones to the right of the centre count.
    if (x1 != x2 || x1 <= pixel_x) continue;
    if ((y1 <= pixel_y) != (y2 <= pixel_y)) inside = !inside;
  }
  return inside;
}

}  // namespace

std::vector<MaskPolygon> mask_polygons(const Mask& mask) {
  std::vector<MaskPolygon> polygons;
  std::vector<int64_t> areas;
  std::vector<Ring> holes;
  for (Ring& ring : Tracer(mask).rings()) {
    const int64_t area = signed_area(ring);
    if (area > 0) {
      polygons.push_back({std::move(ring), {}});
      areas.push_back(area);
    } else {
      holes.push_back(std::move(ring));
    }
  }
  for (Ring& hole : holes) {
    // It starts at the upper left corner of a one below it; that pixel belongs to the part around
    // the hole, or to a part inside of a smaller ring around it.
    const auto [x, y] = hole.front();
    size_t best = polygons.size();
    for (size_t i = 0; i < polygons.size(); ++i) {
      if (!contains(polygons[i].outside, x, y)) continue;
      if (best == polygons.size() || areas[i] < areas[best]) best = i;
    }
    if (best < polygons.size()) polygons[best].holes.push_back(std::move(hole));
  }
  return polygons;
}

}  // namespace vig
