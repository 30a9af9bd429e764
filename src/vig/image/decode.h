// Picture files to 8-bit RGB: JPEG, PNG, WebP and TIFF, told apart by their content.
//
// Colours come out as Pillow's convert("RGB") gives them: alpha and colour keys are dropped without
// compositing, gray and palette are expanded, gamma and colour profiles are ignored, 16-bit samples
// keep their high byte, CMYK is read in Adobe's inverted convention. Of several pages or frames the
// first is taken.
//
// Files are not trusted. Sizes are checked before memory is taken, damaged or cut files raise, and
// time and memory are bounded by DecodeOptions::max_pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vig/image/image.h"

namespace vig {

struct DecodeOptions {
  // Turn the picture the way its EXIF or TIFF orientation says. Off: as stored, which is what
  // torchvision's loaders do and what published accuracies were measured with.
  bool apply_orientation = true;
  // Larger pictures are refused. The worst case (a progressive four-channel JPEG) takes 11 bytes
  // per pixel, so the default stays below 0.75 GB.
  int64_t max_pixels = int64_t{1} << 26;
};

// How names of pictures end, in lower case: ".jpg", ".png", ... The content decides in the end;
// these tell pictures from other files where nobody named them.
std::span<const std::string_view> picture_extensions();
bool has_picture_extension(std::string_view name);  // in whatever case

// `name` stands for the picture in error messages. Raises Error.
Image decode_image(std::span<const uint8_t> bytes, const std::string& name,
                   const DecodeOptions& options = {});

// Raises Error, also when the file cannot be read.
Image read_image(const std::string& path, const DecodeOptions& options = {});

}  // namespace vig
