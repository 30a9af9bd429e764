// Images inside a page or an SVG, so that it needs no other file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vig {

// "data:image/jpeg;base64,...": for the attribute src of HTML and href of SVG.
std::string jpeg_uri(std::span<const uint8_t> jpeg);
std::string png_uri(std::span<const uint8_t> png);

}  // namespace vig
