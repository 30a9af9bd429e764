// Label maps as PNG files: the class of a pixel is its palette index or its gray value, independent
// of the colours in its palette.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig {

// Palette and gray PNG files of 1 to 8 bits, and gray ones of 16 bits whose values are all below
// 256. Values are taken as they are: gray of 2 bits gives 0 to 3. Colour, transparency and other
// formats throw, as do larger files than DecodeOptions::max_pixels allows. Decoding takes its
// memory from image_memory, as images do; the label map itself is not counted after it.
LabelMap load_label_map(const ImageSource& source, const DecodeOptions& options = {});
LabelMap decode_label_map(std::span<const uint8_t> bytes, const std::string& name,
                          const DecodeOptions& options = {});
LabelMap read_label_map(const std::string& path, const DecodeOptions& options = {});

using Color = std::array<uint8_t, 3>;

// A palette PNG. Labels without a colour in `palette` get gray of their own value.
std::vector<uint8_t> encode_label_map(const LabelMap& map, std::span<const Color> palette);

}  // namespace vig
