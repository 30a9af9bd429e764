// The one thing we want from EXIF: the orientation of the image.
#pragma once

#include <cstdint>
#include <span>

#include "vig/image/image.h"

namespace vig {

// The orientation, 1 to 8, of a block of EXIF data (a TIFF header and its first directory, with or
// without the "Exif\0\0" that JPEG puts before it). Anything missing, damaged or out of range gives
// 1, "as stored": an image with bad metadata is still a good image.
int exif_orientation(std::span<const uint8_t> exif);

// The stored image turned and mirrored as orientation 1 to 8 says it must be shown.
Image orient(Image stored, int orientation);

}  // namespace vig
