#include "vig/tasks/box_coder.h"

#include <algorithm>
#include <cmath>

namespace vig {
namespace {

constexpr float kMaxLogSide = 4.135166556742356f;  // ln(1000 / 16)

}  // namespace

BoxDeltas encode_box(const Box& box, const Box& anchor, const BoxDeltas& std) {
  const float x = (box.x1 + box.x2) * 0.5f - (anchor.x1 + anchor.x2) * 0.5f;
  const float y = (box.y1 + box.y2) * 0.5f - (anchor.y1 + anchor.y2) * 0.5f;
  return {x / anchor.width() / std[0], y / anchor.height() / std[1],
          std::log(box.width() / anchor.width()) / std[2],
          std::log(box.height() / anchor.height()) / std[3]};
}

Box decode_box(const BoxDeltas& deltas, const Box& anchor, const BoxDeltas& std) {
  const float width = anchor.width(), height = anchor.height();
  const float x = (anchor.x1 + anchor.x2) * 0.5f + width * (deltas[0] * std[0]);
  const float y = (anchor.y1 + anchor.y2) * 0.5f + height * (deltas[1] * std[1]);
  const auto side = [](float anchor_side, float logarithm) {
    return anchor_side * std::exp(std::clamp(logarithm, -kMaxLogSide, kMaxLogSide));
  };
  const float half_width = 0.5f * side(width, deltas[2] * std[2]);
  const float half_height = 0.5f * side(height, deltas[3] * std[3]);
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

Box clip_box(const Box& box, float width, float height) {
  return {std::clamp(box.x1, 0.0f, width), std::clamp(box.y1, 0.0f, height),
          std::clamp(box.x2, 0.0f, width), std::clamp(box.y2, 0.0f, height)};
}

}  // namespace vig
