// What the image targets share.
#pragma once

#include <initializer_list>
#include <string>

#include "fuzz/targets.h"
#include "vig/image/decode.h"
#include "vig/image/formats.h"

namespace vig::fuzz {

// Opens and decodes what begins like the format; '?' stands for any byte. Only images of
// `max_pixels`, so that a run is cheap.
inline void decode_image(Bytes bytes, std::initializer_list<std::string_view> signatures,
                         OpenImage* open, int64_t max_pixels = 1 << 10) {
  bool known = false;
  for (const std::string_view signature : signatures) {
    bool matches = bytes.size() >= signature.size();
    for (size_t i = 0; matches && i < signature.size(); ++i) {
      matches = signature[i] == '?' || bytes[i] == static_cast<uint8_t>(signature[i]);
    }
    known = known || matches;
  }
  if (!known) return;
  const DecodeOptions options = {.max_pixels = max_pixels};
  const std::string name = "x";
  const auto decoder = open(bytes, name, options);
  const ImageHeader header = decoder->header();
  check(header.width > 0 && header.height > 0, "an image without pixels");
  check(int64_t{header.width} * header.height <= options.max_pixels, "more pixels than allowed");
  check(header.orientation >= 1 && header.orientation <= 8, "an unknown orientation");
  const Image image = decoder->decode();
  check(image.width == header.width && image.height == header.height, "another size than opened");
}

}  // namespace vig::fuzz
