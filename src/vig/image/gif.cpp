// GIF, the first frame. Written here rather than left to giflib: one frame needs a small part of
// that library, and all of it would process untrusted input.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "vig/image/byte_reader.h"
#include "vig/image/formats.h"
#include "vig/image/palette.h"

namespace vig {
namespace {

constexpr uint8_t kExtension = '!', kFrame = ',', kTrailer = ';', kGraphicControl = 0xF9;

// Codes of LZW data: bits from the lowest of each byte on, bytes in sub-blocks of up to 255.
class CodeReader {
 public:
  static constexpr uint32_t kNoMore = ~0u;

  explicit CodeReader(ByteReader& in) : in_(in) {}

  uint32_t read(int bits) {
    while (held_ < bits) {
      if (block_ == 0) block_ = in_.u8();
      if (block_ == 0) return kNoMore;
      buffer_ |= uint32_t{in_.u8()} << held_;
      held_ += 8;
      --block_;
    }
    const uint32_t code = buffer_ & ((1u << bits) - 1);
    buffer_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  ByteReader& in_;
  uint32_t buffer_ = 0;
  int held_ = 0;
  int block_ = 0;
};

struct Frame {
  int left, top, width, height;
  bool interlaced;
};

// The rows of a frame in the order in which they are stored.
std::vector<int> stored_rows(const Frame& frame) {
  std::vector<int> rows;
  const auto append = [&](int first, int stride) {
    for (int y = first; y < frame.height; y += stride) rows.push_back(y);
  };
  if (frame.interlaced) {
    append(0, 8);
    append(4, 8);
    append(2, 4);
    append(1, 2);
  } else {
    append(0, 1);
  }
  return rows;
}

class GifDecoder : public ImageDecoder {
 public:
  GifDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : in_(bytes, name, "GIF"), name_(name) {
    in_.skip(6);  // "GIF89a"
    const int screen_width = static_cast<int>(in_.le16());
    const int screen_height = static_cast<int>(in_.le16());
    const uint8_t flags = in_.u8();
    in_.skip(2);  // the background's index, which Pillow ignores as well, and the aspect ratio
    read_palette(flags);
    outside_ = skip_to_frame();

    frame_.left = static_cast<int>(in_.le16());
    frame_.top = static_cast<int>(in_.le16());
    frame_.width = static_cast<int>(in_.le16());
    frame_.height = static_cast<int>(in_.le16());
    const uint8_t frame_flags = in_.u8();
    frame_.interlaced = (frame_flags & 0x40) != 0;
    read_palette(frame_flags);
    if (frame_.width < 1 || frame_.height < 1) {
      fail("{}: damaged GIF: a frame of {}x{} pixels", name_, frame_.width, frame_.height);
    }
    header_.width = std::max(screen_width, frame_.left + frame_.width);
    header_.height = std::max(screen_height, frame_.top + frame_.height);
    check_size(name_, header_.width, header_.height, options);
    header_.working_bytes = static_cast<uint64_t>(frame_.height) * 2 * sizeof(int);
  }

  Image decode() override {
    Image image(header_.width, header_.height);
    if (frame_.width < image.width || frame_.height < image.height) {
      for (size_t i = 0; i < image.rgb.size(); i += 3) {
        std::copy_n(palette_[outside_], 3, image.rgb.data() + i);
      }
    }
    read_pixels(image);
    return image;
  }

 private:
  // A palette follows where the highest bit of the flags says so.
  void read_palette(uint8_t flags) {
    if ((flags & 0x80) == 0) return;
    palette_ = Palette();
    const size_t colours = size_t{2} << (flags & 7);
    for (size_t i = 0; i < colours; ++i) std::ranges::copy(in_.take(3), palette_.rgb[i].begin());
  }

  // Returns the index that Pillow gives the pixels outside the frame: the transparent one, or 0.
  uint8_t skip_to_frame() {
    uint8_t transparent = 0;
    for (;;) {
      const uint8_t kind = in_.u8();
      if (kind == kFrame) return transparent;
      if (kind == 0) continue;  // a surplus end of blocks, which some writers leave
      if (kind == kTrailer) fail("{}: a GIF without frames", name_);
      if (kind != kExtension) {
        fail("{}: damaged GIF: a block of kind {:#04x}", name_, kind);
      }
      const bool control = in_.u8() == kGraphicControl;
      for (size_t size = in_.u8(); size > 0; size = in_.u8()) {
        const auto block = in_.take(size);
        if (control && size >= 4 && (block[0] & 1) != 0) transparent = block[3];
      }
    }
  }

  // LZW: a code stands for a pixel, for an earlier string of pixels and one more, or for control.
  // Time is bounded by the bytes of the file and the pixels of the frame, for any codes.
  void read_pixels(Image& image) {
    constexpr int kMaxBits = 12;
    constexpr uint32_t kCodes = 1u << kMaxBits;
    const int pixel_bits = in_.u8();
    if (pixel_bits < 1 || pixel_bits > 8) {
      fail("{}: damaged GIF: pixels of {} bits, expected 1 to 8", name_, pixel_bits);
    }
    const uint32_t clear = 1u << pixel_bits, end = clear + 1;
    std::array<uint16_t, kCodes> prefix;  // of codes from end + 1 on
    std::array<uint8_t, kCodes> last;     // pixel of each string
    for (uint32_t i = 0; i < clear; ++i) last[i] = static_cast<uint8_t>(i);
    std::array<uint8_t, kCodes + 1> string;  // backwards

    CodeReader codes(in_);
    const std::vector<int> rows = stored_rows(frame_);
    size_t row = 0;
    int x = 0, bits = pixel_bits + 1;
    uint32_t known = end + 1, previous = CodeReader::kNoMore;
    uint8_t first = 0;  // pixel of the previous string
    while (row < rows.size()) {
      const uint32_t code = codes.read(bits);
      if (code == clear) {
        bits = pixel_bits + 1;
        known = end + 1;
        previous = CodeReader::kNoMore;
        continue;
      }
      if (code == end || code == CodeReader::kNoMore) {
        fail("{}: damaged GIF: the pixels end in row {} of {}", name_, row, rows.size());
      }
      const bool starts = previous == CodeReader::kNoMore;
      if (starts ? code > end : code > known || (code == known && known == kCodes)) {
        fail("{}: damaged GIF: code {}, but {} is the next", name_, code, known);
      }
      size_t length = 0;
      uint32_t rest = code;
      if (code == known) {  // the previous string and its own first pixel
        string[length++] = first;
        rest = previous;
      }
      for (; rest > end; rest = prefix[rest]) string[length++] = last[rest];
      string[length++] = first = last[rest];
      if (!starts && known < kCodes) {
        prefix[known] = static_cast<uint16_t>(previous);
        last[known] = first;
        ++known;
        if (known == 1u << bits && bits < kMaxBits) ++bits;
      }
      previous = code;
      while (length > 0 && row < rows.size()) {
        uint8_t* to = image.row(frame_.top + rows[row]) + (frame_.left + x) * 3;
        std::copy_n(palette_[string[--length]], 3, to);
        if (++x == frame_.width) {
          x = 0;
          ++row;
        }
      }
    }
  }

  ByteReader in_;
  const std::string& name_;
  Palette palette_;
  uint8_t outside_ = 0;  // index of the pixels outside the frame
  Frame frame_ = {};
};

}  // namespace

std::unique_ptr<ImageDecoder> open_gif(std::span<const uint8_t> bytes, const std::string& name,
                                       const DecodeOptions& options) {
  return std::make_unique<GifDecoder>(bytes, name, options);
}

}  // namespace vig
