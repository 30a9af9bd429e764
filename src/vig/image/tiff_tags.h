// The tags of a TIFF file, checked before libtiff copies them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace vig {

// Throws Error when the values of the first page's tags take more bytes than the file has: libtiff
// copies every value, and thousands of tags may name the same bytes. What cannot be followed is
// left for libtiff to complain about.
void check_tiff_tags(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace vig
