// PBM, PGM and PPM, as text (P1 to P3) and binary (P4 to P6).
//
// Samples are scaled by the file's largest value, also those of 16-bit PGM files, which Pillow's
// convert("RGB") clips to white instead.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "vig/image/byte_reader.h"
#include "vig/image/formats.h"

namespace vig {
namespace {

constexpr std::string_view kPnm = "PBM, PGM or PPM";

bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

class PnmDecoder : public ImageDecoder {
 public:
  PnmDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : in_(bytes, name, kPnm), name_(name) {
    in_.skip(1);  // 'P'
    const int kind = in_.u8() - '0';
    text_ = kind <= 3;
    bitmap_ = kind == 1 || kind == 4;
    if (!is_space(peek()) && peek() != '#') {
      fail("{}: damaged {}: no space after P{}", name_, kPnm, kind);
    }
    const uint32_t width = number(), height = number();
    if (!bitmap_) largest_ = number();
    if (largest_ < 1 || largest_ > 65535) {
      fail("{}: damaged {}: samples up to {}, expected 1 to 65535", name_, kPnm, largest_);
    }
    if (!is_space(peek())) fail("{}: damaged {}: no space after the header", name_, kPnm);
    in_.skip(1);
    check_size(name_, width, height, options);
    header_.width = static_cast<int>(width);
    header_.height = static_cast<int>(height);
    header_.working_bytes = largest_ + 1;

    gray_ = kind != 3 && kind != 6;
    row_samples_ = size_t{width} * (gray_ ? 1 : 3);
    // Text has at least a digit a sample, and a space between two samples unless they are bits.
    row_bytes_ = text_     ? row_samples_ * (bitmap_ ? 1 : 2)
                 : bitmap_ ? (row_samples_ + 7) / 8
                           : row_samples_ * (largest_ > 255 ? 2 : 1);
    const uint64_t expected = row_bytes_ * height - (text_ && !bitmap_ ? 1 : 0);
    if (expected > in_.remaining()) {
      fail("{}: damaged {}: {} bytes of pixels, expected {}", name_, kPnm, in_.remaining(),
           expected);
    }
  }

  Image decode() override {
    Image image(header_.width, header_.height);
    scaled_ = scale(largest_);
    for (int y = 0; y < image.height; ++y) {
      uint8_t* row = image.row(y);
      if (text_) {
        for (size_t i = 0; i < row_samples_; ++i) row[i] = text_sample();
      } else {
        read_binary({row, row_samples_});
      }
      if (gray_) {
        for (size_t x = row_samples_; x-- > 0;) std::fill_n(row + x * 3, 3, row[x]);
      }
    }
    return image;
  }

 private:
  // What each sample becomes. Python's round, which Pillow uses, rounds halves to even.
  static std::vector<uint8_t> scale(uint32_t largest) {
    std::vector<uint8_t> scaled(largest + 1);
    for (uint32_t i = 0; i <= largest; ++i) {
      scaled[i] = static_cast<uint8_t>(std::nearbyint(static_cast<double>(i) / largest * 255));
    }
    return scaled;
  }

  void read_binary(std::span<uint8_t> row) {
    const std::span<const uint8_t> bytes = in_.take(row_bytes_);
    for (size_t i = 0; i < row.size(); ++i) {
      if (bitmap_) {
        row[i] = bytes[i / 8] >> (7 - i % 8) & 1 ? 0 : 255;
      } else {
        const uint32_t value =
            largest_ > 255 ? uint32_t{bytes[i * 2]} << 8 | bytes[i * 2 + 1] : bytes[i];
        row[i] = scaled_[std::min(value, largest_)];
      }
    }
  }

  uint8_t text_sample() {
    if (bitmap_) {
      skip_space();
      const uint8_t c = in_.u8();
      if (c != '0' && c != '1') fail("{}: damaged {}: bits other than 0 and 1", name_, kPnm);
      return c == '1' ? 0 : 255;
    }
    const uint32_t value = number();
    if (value > largest_) {
      fail("{}: damaged {}: a sample of {}, expected at most {}", name_, kPnm, value, largest_);
    }
    return scaled_[value];
  }

  uint32_t number() {
    skip_space();
    constexpr int kMaxDigits = 9;
    uint32_t value = 0;
    int digits = 0;
    for (; digits <= kMaxDigits && is_digit(peek()); ++digits) value = value * 10 + in_.u8() - '0';
    if (digits == 0 || digits > kMaxDigits) {
      fail("{}: damaged {}: no number of 1 to {} digits at byte {}", name_, kPnm, kMaxDigits,
           in_.position());
    }
    return value;
  }

  void skip_space() {
    for (uint8_t c = peek(); is_space(c) || c == '#'; c = peek()) {
      if (c == '#') {
        while (peek() != '\n' && peek() != '\r' && in_.remaining() > 0) in_.skip(1);
      } else {
        in_.skip(1);
      }
    }
  }

  // The next byte; 0, which is neither digit nor space, at the end of the file.
  uint8_t peek() const { return in_.remaining() > 0 ? in_.next() : 0; }

  ByteReader in_;
  const std::string& name_;
  bool text_ = false, bitmap_ = false, gray_ = false;
  uint32_t largest_ = 1;  // sample, which stands for 255
  size_t row_samples_ = 0;
  uint64_t row_bytes_ = 0;  // of text: the least
  std::vector<uint8_t> scaled_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_pnm(std::span<const uint8_t> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  return std::make_unique<PnmDecoder>(bytes, name, options);
}

}  // namespace vig
