// The colours behind the pixel values of BMP and GIF files.
#pragma once

#include <array>
#include <cstdint>

namespace vig {

// Colours that the file does not give are gray, as in Pillow.
struct Palette {
  std::array<std::array<uint8_t, 3>, 256> rgb;

  Palette() {
    for (size_t i = 0; i < rgb.size(); ++i) rgb[i].fill(static_cast<uint8_t>(i));
  }
  const uint8_t* operator[](uint8_t index) const { return rgb[index].data(); }
};

}  // namespace vig
