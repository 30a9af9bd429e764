// The size of a picture file without decoding its pixels.
#pragma once

#include "vig/image/decode.h"

namespace vig {

struct PictureSize {
  int width = 0;
  int height = 0;
  bool operator==(const PictureSize&) const = default;
};

// As load_image would give it, turned if the options say so. Throws what opening the file throws;
// damaged pixels go unnoticed.
PictureSize read_picture_size(const PictureSource& source, const DecodeOptions& options = {});

}  // namespace vig
