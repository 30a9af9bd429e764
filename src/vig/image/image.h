// A decoded image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {

// 8-bit RGB, rows from the top, pixels interleaved: rgb[(y * width + x) * 3 + channel].
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;

  Image() = default;
  Image(int w, int h)
      : width(w), height(h), rgb(static_cast<size_t>(w) * static_cast<size_t>(h) * 3) {}

  size_t row_bytes() const { return static_cast<size_t>(width) * 3; }
  uint8_t* row(int y) { return rgb.data() + static_cast<size_t>(y) * row_bytes(); }
  const uint8_t* row(int y) const { return rgb.data() + static_cast<size_t>(y) * row_bytes(); }
  bool operator==(const Image&) const = default;
};

}  // namespace vig
