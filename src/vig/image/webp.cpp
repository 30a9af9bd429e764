// WebP by libwebp. The container is parsed here: it is simple, and it says where the first frame of
// an animation and the EXIF data are.
#include <webp/decode.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

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
  if (status != VP8_STATUS_OK) fail("{}: damaged WebP: no valid image header", name);
  return features;
}

// Draws the image in `bytes` at (x, y).
void decode_into(std::span<const uint8_t> bytes, const std::string& name, Image& image, int x,
                 int y) {
  uint8_t* out = image.row(y) + x * 3;
  const size_t room = static_cast<size_t>(image.rgb.data() + image.rgb.size() - out);
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) fail("{}: libwebp is of another version", name);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {out, static_cast<int>(image.row_bytes()), room};
  const VP8StatusCode status = WebPDecode(bytes.data(), bytes.size(), &config);
  // Only libwebp itself aborts here, when it lacks memory for its own buffers.
  if (status == VP8_STATUS_OUT_OF_MEMORY || status == VP8_STATUS_USER_ABORT) throw std::bad_alloc();
  if (status != VP8_STATUS_OK) {
    fail("{}: damaged WebP: the pixels cannot be decoded or end early", name);
  }
}

class WebpDecoder : public ImageDecoder {
 public:
  WebpDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : bytes_(bytes), name_(name) {
    // libwebp would still decode the first frame of a cut animation.
    const uint64_t declared = uint64_t{u32(bytes.data() + 4)} + 8;
    if (declared > bytes.size()) {
      fail("{}: damaged WebP: {} bytes, {} declared", name, bytes.size(), declared);
    }
    WebPBitstreamFeatures features = read_features(bytes, name);
    check_size(name, features.width, features.height, options);
    header_.width = features.width;
    header_.height = features.height;
    if (features.has_animation) features = find_first_frame();
    header_.working_bytes = working_bytes(features);
    if (const auto exif = find_chunk(bytes, "EXIF")) header_.orientation = exif_orientation(*exif);
  }

  // Where the first frame of an animation does not cover the canvas, the image is black.
  Image decode() override {
    Image image(header_.width, header_.height);
    decode_into(bytes_, name_, image, x_, y_);
    return image;
  }

 private:
  WebPBitstreamFeatures find_first_frame() {
    const auto frame = find_chunk(bytes_, "ANMF");
    if (!frame || frame->size() < kFrameHeader) fail("{}: an animated WebP without frames", name_);
    const int64_t x = int64_t{u24(frame->data())} * 2, y = int64_t{u24(frame->data() + 3)} * 2;
    bytes_ = frame->subspan(kFrameHeader);
    const WebPBitstreamFeatures features = read_features(bytes_, name_);
    if (x + features.width > header_.width || y + features.height > header_.height) {
      fail("{}: damaged WebP: a frame of {}x{} at ({}, {}), outside the canvas of {}x{}", name_,
           features.width, features.height, x, y, header_.width, header_.height);
    }
    x_ = static_cast<int>(x);
    y_ = static_cast<int>(y);
    return features;
  }

  // Lossy images take rows. Lossless ones, and the alpha of lossy ones, are decoded to 32 bits
  // per pixel; besides there are prefix codes: a group of five tables for each block of 4x4 pixels,
  // up to 2^16 groups, each of which takes some bits of the file.
  uint64_t working_bytes(const WebPBitstreamFeatures& features) const {
    constexpr uint64_t kFixed = uint64_t{2} << 20, kRowBytes = 128;
    constexpr uint64_t kGroupBytes = 6600, kGroupBits = 15;
    constexpr int kLossy = 1;
    const auto w = static_cast<uint64_t>(features.width),
               h = static_cast<uint64_t>(features.height);
    const uint64_t rows = kFixed + w * kRowBytes;
    if (features.format == kLossy && !features.has_alpha) return rows;
    const uint64_t pixel_bytes = features.format == kLossy ? 5 : 4;
    const uint64_t groups =
        std::min({uint64_t{1} << 16, (w + 3) / 4 * ((h + 3) / 4), bytes_.size() * 8 / kGroupBits});
    return rows + w * h * pixel_bytes + groups * kGroupBytes;
  }

  std::span<const uint8_t> bytes_;  // of the image, or of its first frame
  const std::string& name_;
  int x_ = 0, y_ = 0;  // of that frame
};

}  // namespace

std::unique_ptr<ImageDecoder> open_webp(std::span<const uint8_t> bytes, const std::string& name,
                                        const DecodeOptions& options) {
  return std::make_unique<WebpDecoder>(bytes, name, options);
}

}  // namespace vig
