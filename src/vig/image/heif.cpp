// HEIC and AVIF. The tiles of an image are decoded one by one by libheif; putting them together,
// cropping and turning are done here.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/coded_size.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"
#include "vig/image/heif_container.h"
#include "vig/image/libheif.h"

namespace vig {
namespace {

// A few bytes can make the codec compute a whole frame or slice. Honest images have one of them;
// progressive AVIF has up to four frames, and HEVC may be cut into slices.
constexpr int64_t kMaxPasses = 200;
constexpr int64_t kMinPassesAllowed = 2;
constexpr int64_t kPassPixelBudget = int64_t{1} << 27;
constexpr int64_t kMaxReferences = 8;  // frames that a codec keeps
// The HEVC decoder takes up to 40 ns for each byte of a frame, however few bytes of the file it
// has: samples of more than 8 bits are two bytes and cost twice as much.
constexpr int64_t kMinFrameBytes = int64_t{1} << 26;

Image crop(const Image& image, const HeifTransform& to) {
  Image result(static_cast<int>(to.width), static_cast<int>(to.height));
  for (int y = 0; y < result.height; ++y) {
    std::copy_n(image.row(static_cast<int>(to.top) + y) + to.left * 3, result.row_bytes(),
                result.row(y));
  }
  return result;
}

Image transform(Image image, const HeifTransform& change) {
  // In the codes of EXIF, which say how to turn what is stored.
  constexpr int kTurnLeft = 8, kFlipRows = 4, kFlipColumns = 2;
  switch (change.kind) {
    case HeifTransform::Kind::kCrop:
      return crop(image, change);
    case HeifTransform::Kind::kTurnLeft:
      return orient(std::move(image), kTurnLeft);
    case HeifTransform::Kind::kFlipRows:
      return orient(std::move(image), kFlipRows);
    case HeifTransform::Kind::kFlipColumns:
      return orient(std::move(image), kFlipColumns);
  }
  return image;
}

class HeifDecoder : public ImageDecoder {
 public:
  HeifDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : name_(name), image_(read_heif_container(bytes, name)) {
    check_size(name_, image_.width, image_.height, options);
    set_shown_size();
    uint64_t largest = 0;
    int64_t declared = 0;
    for (const CodedImage& tile : image_.tiles) {
      check_size(name_, tile.width, tile.height, options);
      declared += tile.width * tile.height;
      largest = std::max(largest, working_bytes(tile, options));
    }
    // Each tile alone may be cheap.
    const int64_t allowed = std::max(kPassPixelBudget, kMinPassesAllowed * declared);
    if (work_ > allowed) {
      fail(
          "{}: damaged HEIC or AVIF: frames and slices of {} pixels, expected at most {} (a fixed "
          "limit)",
          name_, work_, allowed);
    }
    // 8-bit 4:2:0, which is what telephones write, for the largest image.
    const int64_t most = std::max(kMinFrameBytes, options.max_pixels / 2 * 3);
    if (hevc_bytes_ > most) {
      fail("{}: HEIC frames of {} bytes, over the limit of {} (raise it with --max-pixels)", name_,
           hevc_bytes_, most);
    }
    const uint64_t canvas = static_cast<uint64_t>(image_.width * image_.height) * 3;
    const uint64_t turning = image_.transforms.empty() ? 0 : canvas;
    header_.working_bytes = std::max((is_grid() ? canvas : 0) + largest, turning);
  }

  Image decode() override {
    Image image = is_grid() ? decode_grid() : decode_tile(image_.tiles[0]);
    for (const HeifTransform& change : image_.transforms) {
      image = transform(std::move(image), change);
    }
    return image;
  }

 private:
  // A grid may have a single tile that is larger than the image.
  bool is_grid() const {
    return image_.width != image_.tiles[0].width || image_.height != image_.tiles[0].height;
  }

  // The data in one piece; `buffer` holds it where it is in several.
  static std::span<const uint8_t> join(const CodedImage& tile, std::vector<uint8_t>& buffer) {
    if (tile.parts.size() == 1) return tile.parts[0];
    buffer.reserve(tile.data_bytes());
    for (const auto& part : tile.parts) buffer.insert(buffer.end(), part.begin(), part.end());
    return buffer;
  }

  void set_shown_size() {
    int64_t width = image_.width, height = image_.height;
    for (const HeifTransform& change : image_.transforms) {
      if (change.kind == HeifTransform::Kind::kCrop) {
        width = change.width;
        height = change.height;
      } else if (change.kind == HeifTransform::Kind::kTurnLeft) {
        std::swap(width, height);
      }
    }
    header_.width = static_cast<int>(width);
    header_.height = static_cast<int>(height);
  }

  // What decoding one tile takes, the RGB result left out.
  uint64_t working_bytes(const CodedImage& tile, const DecodeOptions& options) {
    std::vector<uint8_t> buffer;
    const CodedSize size = coded_size(tile, join(tile, buffer), name_);
    check_size(name_, size.width, size.height, options);
    work_ += size.pixels() * size.passes;
    const int64_t allowed =
        std::clamp(kPassPixelBudget / size.pixels(), kMinPassesAllowed, kMaxPasses);
    if (size.passes > allowed) {
      fail(
          "{}: damaged HEIC or AVIF: {} frames and slices in an image, expected at most {} (a "
          "fixed limit)",
          name_, size.passes, allowed);
    }
    // Measured as multiples of a frame: the codec's own, its coefficients, libheif's copies before
    // and after each conversion.
    const int64_t copies = tile.codec == HeifCodec::kAv1 ? 4 : 3;
    if (tile.codec == HeifCodec::kHevc) {
      hevc_bytes_ += size.frame_bytes() * std::max<int64_t>(size.frames, 1);
    }
    const int64_t frames = std::clamp<int64_t>(size.frames, 1, kMaxReferences);
    return static_cast<uint64_t>(size.frame_bytes() * copies * frames + size.pixels()) +
           tile.data_bytes() * 3;
  }

  Image decode_tile(const CodedImage& tile) const {
    std::vector<uint8_t> buffer;
    return decode_coded(tile, join(tile, buffer), name_);
  }

  Image decode_grid() const {
    Image image(static_cast<int>(image_.width), static_cast<int>(image_.height));
    for (size_t i = 0; i < image_.tiles.size(); ++i) {
      const Image tile = decode_tile(image_.tiles[i]);
      const auto column = static_cast<int>(static_cast<int64_t>(i) % image_.columns);
      const auto row = static_cast<int>(static_cast<int64_t>(i) / image_.columns);
      const int left = column * tile.width, top = row * tile.height;
      const int width = std::min(tile.width, image.width - left);
      const int height = std::min(tile.height, image.height - top);
      for (int y = 0; y < height; ++y) {
        std::copy_n(tile.row(y), static_cast<size_t>(width) * 3, image.row(top + y) + left * 3);
      }
    }
    return image;
  }

  const std::string& name_;
  HeifImage image_;
  int64_t work_ = 0;        // pixels of all frames and slices of all tiles
  int64_t hevc_bytes_ = 0;  // of all frames of all tiles
};

}  // namespace

std::unique_ptr<ImageDecoder> open_heif(std::span<const uint8_t> bytes, const std::string& name,
                                        const DecodeOptions& options) {
  return std::make_unique<HeifDecoder>(bytes, name, options);
}

}  // namespace vig
