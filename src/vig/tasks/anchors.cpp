#include "vig/tasks/anchors.h"

#include <cmath>

namespace vig {

std::vector<Box> cell_anchors(const DetectorConfig& config, int stride) {
  const float side = config.anchor_scale * static_cast<float>(stride);
  std::vector<Box> anchors;
  for (const float ratio : config.anchor_ratios) {
    const float root = std::sqrt(ratio);
    const float x = 0.5f * side / root, y = 0.5f * side * root;
    anchors.push_back({-x, -y, x, y});
  }
  return anchors;
}

std::vector<Box> level_anchors(const DetectorConfig& config, int stride, int height, int width) {
  const std::vector<Box> cell = cell_anchors(config, stride);
  std::vector<Box> anchors;
  anchors.reserve(static_cast<size_t>(height) * static_cast<size_t>(width) * cell.size());
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const auto x = static_cast<float>(column * stride), y = static_cast<float>(row * stride);
      for (const Box& box : cell) {
        anchors.push_back({box.x1 + x, box.y1 + y, box.x2 + x, box.y2 + y});
      }
    }
  }
  return anchors;
}

}  // namespace vig
