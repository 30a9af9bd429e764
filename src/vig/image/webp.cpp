// WebP by libwebp. The container is walked here: it is simple, and it says where the first frame of
// an animation and the EXIF data are.
#include <webp/decode.h>

#include <cstring>
#include <optional>
#include <utility>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"

namespace vig {
namespace {

constexpr size_t kRiffHeader = 12;   // "RIFF", size, "WEBP"
constexpr size_t kFrameHeader = 16;  // x, y, width - 1, height - 1, duration, flags

uint32_t u24(const uint8_t* p) { return p[0] | p[1] << 8 | p[2] << 16; }
uint32_t u32(const uint8_t* p) { return u24(p) | static_cast<uint32_t>(p[3]) << 24; }

// The payload of the first chunk called `tag`.
std::optional<std::span<const uint8_t>> find_chunk(std::span<const uint8_t> riff, const char* tag) {
  size_t at = kRiffHeader;
  while (at < riff.size() && riff.size() - at >= 8) {
    const size_t size = u32(riff.data() + at + 4);
    if (size > riff.size() - at - 8) break;
    if (std::memcmp(riff.data() + at, tag, 4) == 0) return riff.subspan(at + 8, size);
    at += 8 + size + (size & 1);
  }
  return std::nullopt;
}

WebPBitstreamFeatures read_features(std::span<const uint8_t> bytes, const std::string& name) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) fail("{}: damaged WebP: the file ends early", name);
  if (status != VP8_STATUS_OK) fail("{}: damaged WebP: no valid picture header", name);
  return features;
}

// Draws the picture in `bytes` at (x, y).
void decode_into(std::span<const uint8_t> bytes, const std::string& name, Image& image, int x = 0,
                 int y = 0) {
  uint8_t* out = image.row(y) + x * 3;
  const size_t room = static_cast<size_t>(image.rgb.data() + image.rgb.size() - out);
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), out, room,
                        static_cast<int>(image.row_bytes())) == nullptr) {
    fail("{}: damaged WebP: the pixels cannot be decoded or end early", name);
  }
}

// Where the first frame does not cover the canvas, the picture is black.
void decode_first_frame(std::span<const uint8_t> riff, const std::string& name, Image& canvas) {
  const auto frame = find_chunk(riff, "ANMF");
  if (!frame || frame->size() < kFrameHeader) fail("{}: an animated WebP without frames", name);
  const int64_t x = int64_t{u24(frame->data())} * 2, y = int64_t{u24(frame->data() + 3)} * 2;
  const std::span<const uint8_t> bytes = frame->subspan(kFrameHeader);
  const WebPBitstreamFeatures features = read_features(bytes, name);
  if (x + features.width > canvas.width || y + features.height > canvas.height) {
    fail("{}: damaged WebP: a frame of {}x{} at ({}, {}), outside the canvas of {}x{}", name,
         features.width, features.height, x, y, canvas.width, canvas.height);
  }
  decode_into(bytes, name, canvas, static_cast<int>(x), static_cast<int>(y));
}

}  // namespace

StoredImage decode_webp(std::span<const uint8_t> bytes, const std::string& name,
                        const DecodeOptions& options) {
  // libwebp would still decode the first frame of a cut animation.
  const uint64_t declared = uint64_t{u32(bytes.data() + 4)} + 8;
  if (declared > bytes.size()) {
    fail("{}: damaged WebP: {} bytes, {} declared", name, bytes.size(), declared);
  }
  const WebPBitstreamFeatures features = read_features(bytes, name);
  check_size(name, features.width, features.height, options);
  StoredImage result;
  result.image = Image(features.width, features.height);
  if (features.has_animation) {
    decode_first_frame(bytes, name, result.image);
  } else {
    decode_into(bytes, name, result.image);
  }
  if (const auto exif = find_chunk(bytes, "EXIF")) result.orientation = exif_orientation(*exif);
  return result;
}

}  // namespace vig
