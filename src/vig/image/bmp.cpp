// BMP: headers of Windows and OS/2, 1 to 32 bits a pixel, run lengths, bit fields.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "vig/image/byte_reader.h"
#include "vig/image/formats.h"
#include "vig/image/palette.h"

namespace vig {
namespace {

constexpr uint32_t kFileHeader = 14;
constexpr uint32_t kOs2Header = 12, kOs2LongHeader = 64, kWindowsHeader = 40;
constexpr uint32_t kRaw = 0, kRunLengths8 = 1, kRunLengths4 = 2, kBitFields = 3, kAlphaFields = 6;

// One colour inside a pixel of 16, 24 or 32 bits.
struct BitField {
  uint32_t mask;

  uint8_t of(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t largest = mask >> shift, value = (pixel & mask) >> shift;
    return static_cast<uint8_t>(largest == 255 ? value : value * 255 / largest);
  }
  bool is_contiguous() const {
    const uint64_t shifted = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return (shifted & (shifted + 1)) == 0;
  }
};

class BmpDecoder : public ImageDecoder {
 public:
  BmpDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : in_(bytes, name, "BMP"), name_(name) {
    read_header();
    check_size(name_, width_, height_, options);
    check_kind();
    header_.width = static_cast<int>(width_);
    header_.height = static_cast<int>(height_);
    if (bits_ <= 8) {
      read_palette();
    } else {
      read_fields();
    }
    if (pixels_at_ < in_.position() || pixels_at_ > bytes.size()) {
      fail("{}: damaged BMP: pixels at byte {}, expected between {} and {}", name_, pixels_at_,
           in_.position(), bytes.size());
    }
    in_.skip(pixels_at_ - in_.position());
    if (!run_lengths()) check_rows();
  }

  Image decode() override {
    Image image(header_.width, header_.height);
    if (run_lengths()) {
      read_run_lengths(image);
    } else {
      read_rows(image);
    }
    return image;
  }

 private:
  void read_header() {
    in_.skip(10);  // "BM", size of the file, reserved
    pixels_at_ = in_.le32();
    kind_ = in_.le32();
    if (kind_ == kOs2Header) {
      width_ = in_.le16();
      height_ = in_.le16();
      in_.skip(2);  // planes
      bits_ = in_.le16();
      return;
    }
    if (kind_ != 16 && kind_ != kWindowsHeader && kind_ != 52 && kind_ != 56 &&
        kind_ != kOs2LongHeader && kind_ != 108 && kind_ != 124) {
      fail("{}: a BMP header of {} bytes, which is none of the known kinds", name_, kind_);
    }
    width_ = static_cast<int32_t>(in_.le32());
    height_ = static_cast<int32_t>(in_.le32());
    top_down_ = height_ < 0;
    if (top_down_) height_ = -height_;
    in_.skip(2);  // planes
    bits_ = in_.le16();
    if (kind_ < kWindowsHeader) return;
    compression_ = in_.le32();
    in_.skip(12);  // size of the pixels, pixels per metre
    colours_ = in_.le32();
    in_.skip(4);  // colours that matter
  }

  void check_kind() const {
    const bool fields = compression_ == kBitFields || compression_ == kAlphaFields;
    bool known = false;
    switch (bits_) {
      case 1:
        known = compression_ == kRaw;
        break;
      case 4:
        known = compression_ == kRaw || compression_ == kRunLengths4;
        break;
      case 8:
        known = compression_ == kRaw || compression_ == kRunLengths8;
        break;
      case 16:
      case 24:
      case 32:
        // In the long header of OS/2 the number of the bit fields means Huffman coding.
        known = compression_ == kRaw || (fields && kind_ != kOs2LongHeader);
        break;
      default:
        break;
    }
    if (!known) {
      fail("{}: a BMP of {} bits a pixel with compression {}, which is not supported", name_, bits_,
           compression_);
    }
  }

  void read_palette() {
    in_.skip(kFileHeader + kind_ - in_.position());
    const uint32_t possible = 1u << bits_;
    const uint32_t colours = colours_ == 0 ? possible : std::min(colours_, possible);
    for (uint32_t i = 0; i < colours; ++i) {
      const auto entry = in_.take(kind_ == kOs2Header ? 3 : 4);
      std::reverse_copy(entry.begin(), entry.begin() + 3, palette_.rgb[i].begin());
    }
  }

  // The masks follow the 40 bytes that all headers of Windows share, as part of a longer one or
  // not.
  void read_fields() {
    if (compression_ != kRaw) {
      for (BitField& field : fields_) field.mask = in_.le32();
    }
    if (!fields_[0].mask && !fields_[1].mask && !fields_[2].mask) {
      fields_ = bits_ == 16 ? std::array<BitField, 3>{{{0x7C00}, {0x3E0}, {0x1F}}}
                            : std::array<BitField, 3>{{{0xFF0000}, {0xFF00}, {0xFF}}};
    }
    for (const BitField& field : fields_) {
      if (!field.is_contiguous()) {
        fail("{}: damaged BMP: a colour in the bits {:#x}, expected neighbours", name_, field.mask);
      }
    }
    const size_t end = size_t{kFileHeader} + kind_;
    if (in_.position() < end) in_.skip(end - in_.position());
  }

  uint8_t* row(Image& image, int64_t y) const {  // y counts as the file does
    return image.row(static_cast<int>(top_down_ ? y : height_ - 1 - y));
  }

  bool run_lengths() const { return compression_ == kRunLengths8 || compression_ == kRunLengths4; }

  uint64_t stride() const { return (static_cast<uint64_t>(width_) * bits_ + 31) / 32 * 4; }

  void check_rows() const {
    // Some writers leave out the padding of the last row.
    const uint64_t last = (static_cast<uint64_t>(width_) * bits_ + 7) / 8;
    const uint64_t expected = stride() * (static_cast<uint64_t>(height_) - 1) + last;
    if (expected > in_.remaining()) {
      fail("{}: damaged BMP: {} bytes of pixels, expected {}", name_, in_.remaining(), expected);
    }
  }

  void read_rows(Image& image) {
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* from = in_.take(std::min<uint64_t>(stride(), in_.remaining())).data();
      uint8_t* to = row(image, y);
      for (int64_t x = 0; x < width_; ++x) put_pixel(from, x, to + x * 3);
    }
  }

  void put_pixel(const uint8_t* from, int64_t x, uint8_t* to) const {
    if (bits_ <= 8) {
      const int64_t bit = x * bits_;
      const int index = from[bit / 8] >> (8 - bits_ - bit % 8) & ((1 << bits_) - 1);
      std::copy_n(palette_[static_cast<uint8_t>(index)], 3, to);
      return;
    }
    const int size = static_cast<int>(bits_ / 8);
    uint32_t pixel = 0;
    for (int i = 0; i < size; ++i) pixel |= uint32_t{from[x * size + i]} << 8 * i;
    for (int c = 0; c < 3; ++c) to[c] = fields_[c].of(pixel);
  }

  // A pair (count, value) repeats; (0, 0) ends a row, (0, 1) the image, (0, 2) moves on by the
  // two bytes that follow, (0, count) precedes literal pixels, padded to an even number of bytes.
  // Pixels passed over keep index 0; those beyond the end of a row are dropped.
  void read_run_lengths(Image& image) {
    for (size_t i = 0; i < image.rgb.size(); i += 3) {
      std::copy_n(palette_[0], 3, image.rgb.data() + i);
    }
    const bool nibbles = compression_ == kRunLengths4;
    int64_t x = 0, y = 0;
    const auto put = [&](uint8_t index) {
      if (x < width_) std::copy_n(palette_[index], 3, row(image, y) + x * 3);
      ++x;
    };
    while (y < height_) {
      const uint8_t count = in_.u8(), value = in_.u8();
      if (count > 0) {
        for (int i = 0; i < count; ++i) {
          put(!nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
        }
      } else if (value == 0) {
        x = 0;
        ++y;
      } else if (value == 1) {
        break;
      } else if (value == 2) {
        x += in_.u8();
        y += in_.u8();
      } else {
        const int bytes = nibbles ? (value + 1) / 2 : value;
        const auto literal = in_.take(static_cast<uint64_t>(bytes));
        for (int i = 0; i < value; ++i) {
          put(!nibbles ? literal[i] : i % 2 == 0 ? literal[i / 2] >> 4 : literal[i / 2] & 15);
        }
        if (bytes % 2 == 1) in_.skip(1);
      }
      // The last row may end without its mark.
      if (y == height_ - 1 && x >= width_ && in_.remaining() < 2) break;
    }
  }

  ByteReader in_;
  const std::string& name_;
  uint32_t pixels_at_ = 0;
  uint32_t kind_ = 0;  // bytes of the second header, which identify its kind
  int64_t width_ = 0, height_ = 0;
  bool top_down_ = false;
  uint32_t bits_ = 0, compression_ = kRaw, colours_ = 0;
  std::array<BitField, 3> fields_ = {};
  Palette palette_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_bmp(std::span<const uint8_t> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  return std::make_unique<BmpDecoder>(bytes, name, options);
}

}  // namespace vig
