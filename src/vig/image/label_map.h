// A class for every pixel of an image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {

// Pixels with this label have none: they take no part in losses and metrics.
inline constexpr uint8_t kNoLabel = 255;

// Rows from the top: labels[y * width + x].
struct LabelMap {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> labels;

  LabelMap() = default;
  LabelMap(int w, int h, uint8_t label = kNoLabel)
      : width(w), height(h), labels(static_cast<size_t>(w) * static_cast<size_t>(h), label) {}

  uint8_t* row(int y) {
    return labels.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
  }
  const uint8_t* row(int y) const {
    return labels.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
  }
  bool operator==(const LabelMap&) const = default;
};

}  // namespace vig
