// One decoder per file format, behind decode.h. All raise Error naming `name`.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig {

struct StoredImage {
  Image image;          // as stored
  int orientation = 1;  // EXIF's, 1 to 8
};

StoredImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeOptions& options);
StoredImage decode_png(std::span<const uint8_t> bytes, const std::string& name,
                       const DecodeOptions& options);
StoredImage decode_webp(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeOptions& options);
StoredImage decode_tiff(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeOptions& options);

// Every decoder calls this with the declared size before it takes memory for pixels.
void check_size(const std::string& name, int64_t width, int64_t height,
                const DecodeOptions& options);

}  // namespace vig
