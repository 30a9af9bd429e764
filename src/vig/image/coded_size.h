// What decoding an HEVC or AV1 image costs, from the headers inside its data: they decide how
// much memory the codec takes, not what the file around them declares.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vig/image/heif_container.h"

namespace vig {

struct CodedSize {
  int64_t width = 0, height = 0;  // the largest that any header allows
  int64_t frames = 0;
  int64_t passes = 0;    // over the image: frames, and slices, each of which may cover all of it
  int half_samples = 2;  // a pixel, the chroma included: 3 for 4:2:0, 6 for 4:4:4
  int sample_bytes = 1;

  int64_t pixels() const { return width * height; }
  int64_t frame_bytes() const { return pixels() * half_samples * sample_bytes / 2; }
};

// `data` holds the parts of `image` in one piece. Throws Error naming `name`.
CodedSize coded_size(const CodedImage& image, std::span<const uint8_t> data,
                     const std::string& name);

}  // namespace vig
