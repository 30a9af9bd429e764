// Images to files, for reports that show them.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// A baseline JPEG; `quality` from 1 to 100. Throws Error (usage) for an image without pixels or
// with a side above 65500, the format's limit.
std::vector<uint8_t> encode_jpeg(const Image& image, int quality = 85);

// The whole image with its longer side at most `side`; smaller ones stay as they are.
Image thumbnail(const Image& image, int side);

}  // namespace vig
