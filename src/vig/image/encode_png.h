// Images to PNG files.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// Throws Error (usage) for an image without pixels.
std::vector<uint8_t> encode_png(const Image& image);

// 8-bit indices, rows from the top, with 1 to 256 colours.
std::vector<uint8_t> encode_palette_png(std::span<const uint8_t> indices, int width, int height,
                                        std::span<const std::array<uint8_t, 3>> palette);

}  // namespace vig
