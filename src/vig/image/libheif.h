// HEVC and AV1 images decoded by libheif.
//
// The library is loaded when the first such image is met: with the codecs that it draws in it
// would take longer to load than the whole program.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vig/image/heif_container.h"
#include "vig/image/image.h"

namespace vig {

// `data` holds the parts of `image` in one piece. The result has the declared size. Throws Error
// naming `name`, also where the library is missing.
Image decode_coded(const CodedImage& image, std::span<const uint8_t> data, const std::string& name);

}  // namespace vig
