// One decoder per file format, behind decode.h. All throw Error naming `name`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "vig/image/decode.h"
#include "vig/image/image.h"

namespace vig {

// What the header of an image file says.
struct ImageHeader {
  int width = 0;
  int height = 0;
  int orientation = 1;  // EXIF's, 1 to 8
  // The most memory that decode() holds at a time beside the file's bytes and the resulting RGB
  // image: coefficients, strips, tiles, planes, rows. An upper bound for any content, since
  // decoders of several threads share one budget.
  uint64_t working_bytes = 0;
};

// An image file whose header was read. Opening one calls check_size before anything grows with the
// image, and takes no more memory than a few times the file's size.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;

  const ImageHeader& header() const { return header_; }
  // The image as stored, of the header's width and height. Called at most once.
  virtual Image decode() = 0;

 protected:
  ImageDecoder() = default;
  ImageDecoder(const ImageDecoder&) = delete;
  ImageDecoder& operator=(const ImageDecoder&) = delete;

  ImageHeader header_;
};

// `bytes`, `name` and `options` outlive the decoder.
using OpenImage = std::unique_ptr<ImageDecoder>(std::span<const uint8_t> bytes,
                                                const std::string& name,
                                                const DecodeOptions& options);
OpenImage open_jpeg, open_png, open_webp, open_tiff, open_bmp, open_gif, open_pnm, open_heif;

void check_size(const std::string& name, int64_t width, int64_t height,
                const DecodeOptions& options);

}  // namespace vig
