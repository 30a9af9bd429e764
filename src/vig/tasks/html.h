// Shared by our pages of images: each is one file that needs nothing else, no script, no font,
// no address.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vig {

std::string html_escaped(std::string_view text);
// Everything up to and with the heading.
std::string html_begin(std::string_view title);
std::string html_end();
// An image as large as its figure, or a word on its absence where there are no bytes.
std::string html_image(std::span<const uint8_t> jpeg);

}  // namespace vig
