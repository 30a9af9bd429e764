// The size of an image file without decoding its pixels.
#pragma once

#include "vig/image/decode.h"

namespace vig {

struct ImageSize {
  int width = 0;
  int height = 0;
  bool operator==(const ImageSize&) const = default;
};

// As load_image would give it, turned if the options say so. Throws what opening the file throws;
// damaged pixels go unnoticed.
ImageSize read_image_size(const ImageSource& source, const DecodeOptions& options = {});

}  // namespace vig
