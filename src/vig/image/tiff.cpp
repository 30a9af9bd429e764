// TIFF by libtiff, from memory, the first page.
//
// Gray, palette and RGB are read sample by sample here, because libtiff's own conversion multiplies
// colours by alpha; it serves for the rest (YCbCr, CMYK, Lab).
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/formats.h"
#include "vig/image/jpeg_segments.h"
#include "vig/image/tiff_tags.h"

namespace vig {
namespace {

// Bounds the memory of one row; more samples than colour and a few masks are not a photograph.
constexpr int kMaxSamples = 16;

class TiffDecoder : public ImageDecoder {
 public:
  TiffDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : bytes_(bytes), name_(name), options_(options) {
    check_tiff_tags(bytes, name);
    errno = 0;
    TIFFOpenOptions* open = TIFFOpenOptionsAlloc();
    if (open == nullptr) throw std::bad_alloc();
    // Room for a strip or tile that holds the whole image as four 16-bit channels.
    room_ = std::clamp<int64_t>(options.max_pixels, 1 << 20, int64_t{1} << 40) * 8;
    TIFFOpenOptionsSetMaxSingleMemAlloc(open, room_);
    TIFFOpenOptionsSetErrorHandlerExtR(open, &keep_first_message, this);
    TIFFOpenOptionsSetWarningHandlerExtR(open, &ignore_message, nullptr);
    // 'm': no memory mapping, the bytes are in memory already.
    tiff_ = TIFFClientOpenExt(
        "", "rm", this, &read_at, [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; },
        &seek_to, [](thandle_t) { return 0; },
        [](thandle_t self) { return toff_t{reader(self).bytes_.size()}; }, nullptr, nullptr, open);
    TIFFOpenOptionsFree(open);
    if (tiff_ == nullptr) damaged("no valid header or first page");
    try {
      read_header();
    } catch (...) {
      TIFFClose(tiff_);
      throw;
    }
  }
  ~TiffDecoder() override { TIFFClose(tiff_); }

  Image decode() override {
    Image image(header_.width, header_.height);
    errno = 0;
    if (!plain_) {
      read_by_libtiff(image);
    } else if (TIFFIsTiled(tiff_)) {
      read_tiles(image);
    } else {
      read_rows(image);
    }
    return image;
  }

 private:
  void read_header() {
    const uint32_t width = required(TIFFTAG_IMAGEWIDTH, "width");
    const uint32_t height = required(TIFFTAG_IMAGELENGTH, "height");
    check_size(name_, width, height, options_);
    bits_ = field16(TIFFTAG_BITSPERSAMPLE);
    samples_ = field16(TIFFTAG_SAMPLESPERPIXEL);
    separate_ = field16(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    compression_ = field16(TIFFTAG_COMPRESSION);
    if (compression_ == COMPRESSION_OJPEG) {
      fail("{}: a TIFF with old-style JPEG compression, which is not supported", name_);
    }
    // Their data have sizes of their own, which nothing bounds.
    if (compression_ == COMPRESSION_JBIG || compression_ == COMPRESSION_LERC) {
      fail("{}: a TIFF with {} compression, which is not supported", name_,
           compression_ == COMPRESSION_JBIG ? "JBIG" : "LERC");
    }
    if (samples_ < 1 || samples_ > kMaxSamples) {
      fail("{}: a TIFF of {} samples per pixel, expected 1 to {}", name_, samples_, kMaxSamples);
    }
    if (TIFFGetField(tiff_, TIFFTAG_PHOTOMETRIC, &photometric_) != 1) {
      fail("{}: a TIFF that does not say how its samples mean colour", name_);
    }
    if (photometric_ == PHOTOMETRIC_YCBCR && compression_ == COMPRESSION_JPEG && !separate_) {
      TIFFSetField(tiff_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      photometric_ = PHOTOMETRIC_RGB;
    }

    plain_ = is_plain();
    if (plain_) prepare_colours();
    const uint16_t orientation = field16(TIFFTAG_ORIENTATION);
    header_ = {.width = static_cast<int>(width),
               .height = static_cast<int>(height),
               .orientation = orientation >= 1 && orientation <= 8 ? orientation : 1};
    const Pieces pieces = find_pieces();
    check_work(pieces);
    header_.working_bytes = working_bytes(pieces);
  }

  // Strips or tiles, of which libtiff decodes each as a whole.
  struct Pieces {
    uint64_t count;
    uint64_t bytes;  // of each, decoded
  };

  Pieces find_pieces() {
    const uint64_t planes = separate_ ? samples_ : 1;
    if (!TIFFIsTiled(tiff_)) {
      return {TIFFNumberOfStrips(tiff_), static_cast<uint64_t>(TIFFStripSize(tiff_))};
    }
    const int64_t tile_width = required(TIFFTAG_TILEWIDTH, "tile width");
    const int64_t tile_height = required(TIFFTAG_TILELENGTH, "tile height");
    check_size(name_, tile_width, tile_height, options_);
    const auto across = [](uint64_t side, int64_t tile) {
      return (side + static_cast<uint64_t>(tile) - 1) / static_cast<uint64_t>(tile);
    };
    return {across(static_cast<uint64_t>(header_.width), tile_width) *
                across(static_cast<uint64_t>(header_.height), tile_height) * planes,
            static_cast<uint64_t>(TIFFTileSize(tiff_))};
  }

  // Tiles may be larger than the image, and all may share the same bytes of the file, so neither
  // its size nor the image's bounds the work.
  void check_work(const Pieces& pieces) {
    const uint64_t pixels =
        static_cast<uint64_t>(header_.width) * static_cast<uint64_t>(header_.height);
    const uint64_t own = (pixels * samples_ * bits_ + 7) / 8;
    // Four times for tiles that reach beyond the image's edges; in all, as four 16-bit channels.
    constexpr uint64_t kPadding = uint64_t{64} << 20;
    const uint64_t most = std::min(own * 4, static_cast<uint64_t>(room_)) + kPadding;
    if (pieces.bytes == 0 || pieces.bytes > most || pieces.count > most / pieces.bytes) {
      fail(
          "{}: a TIFF of {} strips or tiles of {} bytes, expected at most {} bytes in all for an "
          "image of {}x{} pixels ({})",
          name_, pieces.count, pieces.bytes, most, header_.width, header_.height,
          own * 4 > static_cast<uint64_t>(room_) ? "raise it with --max-pixels" : "a fixed limit");
    }
    const uint64_t most_pieces = (uint64_t{1} << 16) + pixels / 1024;
    if (pieces.count > most_pieces) {
      fail(
          "{}: a TIFF of {} strips or tiles, expected at most {} for an image of {}x{} pixels (a "
          "fixed limit)",
          name_, pieces.count, most_pieces, header_.width, header_.height);
    }
    constexpr uint64_t kShared = uint64_t{16} << 20;
    uint64_t packed = 0;
    for (uint32_t i = 0; i < pieces.count; ++i) {
      const uint64_t offset = std::min<uint64_t>(TIFFGetStrileOffset(tiff_, i), bytes_.size());
      const uint64_t size =
          std::min<uint64_t>(TIFFGetStrileByteCount(tiff_, i), bytes_.size() - offset);
      packed += size;
      if (packed > bytes_.size() * 2 + kShared) {
        fail("{}: damaged TIFF: its strips or tiles overlap", name_);
      }
      if (compression_ == COMPRESSION_JPEG) check_jpeg(bytes_.subspan(offset, size));
    }
  }

  // TIFF knows no progressive JPEG. libtiff decodes it, with up to 100 scans for every piece.
  void check_jpeg(std::span<const uint8_t> jpeg) const {
    constexpr uint8_t kBaseline = 0xC0, kExtended = 0xC1, kTables = 0xC4, kLastFrame = 0xCF;
    for (JpegSegments segments(jpeg); segments.next();) {
      const uint8_t marker = segments.marker();
      if (marker < kBaseline || marker > kLastFrame || marker == kTables) continue;
      if (marker == kBaseline || marker == kExtended) continue;
      fail("{}: a TIFF with JPEG data of kind {:02x}, expected sequential Huffman coding", name_,
           marker);
    }
  }

  // Beside the image: the file's bytes of one piece, the piece decoded unless it is read row by
  // row, and what its decoder keeps of it; where libtiff converts, also its own image of 4 bytes
  // per pixel and the pieces of other planes.
  uint64_t working_bytes(const Pieces& pieces) {
    constexpr uint64_t kFixed = uint64_t{4} << 20;
    // Above this libtiff refuses the coefficients of a JPEG of several scans.
    constexpr uint64_t kCoefficients = 100'000'000;
    const uint64_t pixels =
        static_cast<uint64_t>(header_.width) * static_cast<uint64_t>(header_.height);
    const uint64_t planes = separate_ && !plain_ ? std::min<uint64_t>(samples_, 4) : 1;
    const bool by_row = plain_ && !TIFFIsTiled(tiff_);
    uint64_t bytes = kFixed + bytes_.size();
    bytes += by_row ? static_cast<uint64_t>(TIFFScanlineSize(tiff_)) * 4 : pieces.bytes * planes;
    if (!plain_) bytes += pixels * 4;
    if (compression_ == COMPRESSION_JPEG) bytes += std::min(kCoefficients, pieces.bytes * 2);
    if (compression_ == COMPRESSION_WEBP) bytes += pieces.bytes * 3;
    const bool window = compression_ == COMPRESSION_LZMA || compression_ == COMPRESSION_ZSTD;
    return bytes + (window ? pieces.bytes : 0);
  }

  static TiffDecoder& reader(thandle_t self) { return *static_cast<TiffDecoder*>(self); }

  static tmsize_t read_at(thandle_t self, void* out, tmsize_t size) {
    TiffDecoder& r = reader(self);
    const uint64_t at = std::min<uint64_t>(r.position_, r.bytes_.size());
    const uint64_t count = std::min<uint64_t>(static_cast<uint64_t>(size), r.bytes_.size() - at);
    std::memcpy(out, r.bytes_.data() + at, count);
    r.position_ = at + count;
    return static_cast<tmsize_t>(count);
  }

  static toff_t seek_to(thandle_t self, toff_t offset, int from) {
    TiffDecoder& r = reader(self);
    if (from == SEEK_CUR) offset += r.position_;
    if (from == SEEK_END) offset += r.bytes_.size();
    return r.position_ = offset;
  }

  static int keep_first_message(TIFF*, void* self, const char*, const char* format, va_list args) {
    auto& message = static_cast<TiffDecoder*>(self)->message_;
    if (message[0] == '\0') std::vsnprintf(message, sizeof(message), format, args);
    return 1;  // handled: nothing is printed
  }
  static int ignore_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  [[noreturn]] void damaged(const char* what) const {
    // Of a failed allocation libtiff says as little as of a damaged file.
    if (errno == ENOMEM) throw std::bad_alloc();
    fail("{}: damaged TIFF: {}", name_, message_[0] != '\0' ? message_ : what);
  }

  uint32_t required(uint32_t tag, const char* what) {
    uint32_t value = 0;
    if (TIFFGetField(tiff_, tag, &value) != 1) fail("{}: damaged TIFF: no {}", name_, what);
    return value;
  }
  uint16_t field16(uint32_t tag) {
    uint16_t value = 0;
    TIFFGetFieldDefaulted(tiff_, tag, &value);
    return value;
  }

  bool is_plain() {
    const bool gray =
        photometric_ == PHOTOMETRIC_MINISBLACK || photometric_ == PHOTOMETRIC_MINISWHITE;
    const bool palette = photometric_ == PHOTOMETRIC_PALETTE;
    const bool rgb = photometric_ == PHOTOMETRIC_RGB && samples_ >= 3;
    const bool small = bits_ == 1 || bits_ == 2 || bits_ == 4 || bits_ == 8;
    const uint16_t format = field16(TIFFTAG_SAMPLEFORMAT);
    return (format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID) &&
           ((small && (gray || palette || rgb)) || (bits_ == 16 && (gray || rgb)));
  }

  // `colours_[c][sample]` is the 8-bit value of channel c, for 16 bits of the high byte.
  void prepare_colours() {
    channels_ = photometric_ == PHOTOMETRIC_RGB ? 3 : 1;
    const int depth = std::min<int>(bits_, 8);
    const int top = (1 << depth) - 1;
    if (photometric_ == PHOTOMETRIC_PALETTE) {
      std::array<uint16_t*, 3> map = {};
      if (TIFFGetField(tiff_, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) != 1) {
        fail("{}: damaged TIFF: a palette image without a palette", name_);
      }
      // Some writers put 8-bit values into the 16-bit palette.
      bool wide = false;
      for (const uint16_t* colours : map) {
        wide |= std::any_of(colours, colours + top + 1, [](uint16_t v) { return v > 255; });
      }
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i <= top; ++i) {
          colours_[c][i] = static_cast<uint8_t>(wide ? map[c][i] >> 8 : map[c][i]);
        }
      }
      return;
    }
    for (auto& colours : colours_) {
      for (int i = 0; i <= top; ++i) {
        const int value = photometric_ == PHOTOMETRIC_MINISWHITE ? top - i : i;
        colours[i] = static_cast<uint8_t>(value * 255 / top);
      }
    }
  }

  // Sample number `i` of a row as libtiff delivers it: packed bits, 16 bits in native order.
  int sample(const uint8_t* row, size_t i) const {
    if (bits_ == 8) return row[i];
    if (bits_ == 16) {
      uint16_t value;
      std::memcpy(&value, row + i * 2, 2);
      return value >> 8;
    }
    const size_t bit = i * bits_;
    return row[bit / 8] >> (8 - bits_ - bit % 8) & ((1 << bits_) - 1);
  }

  // Writes `count` pixels. `plane` is the channel in `row`, or -1 for interleaved samples.
  void put_row(const uint8_t* row, int count, int plane, uint8_t* rgb) const {
    const size_t stride = plane < 0 ? samples_ : 1;
    for (int x = 0; x < count; ++x) {
      for (int c = 0; c < 3; ++c) {
        if (channels_ == 3 && plane >= 0 && plane != c) continue;
        const size_t offset = channels_ == 3 && plane < 0 ? c : 0;
        rgb[x * 3 + c] = colours_[c][sample(row, x * stride + offset)];
      }
    }
  }

  int planes() const { return separate_ ? channels_ : 1; }

  void read_rows(Image& image) {
    std::vector<uint8_t> line(static_cast<size_t>(TIFFScanlineSize(tiff_)));
    const size_t needed =
        (static_cast<size_t>(image.width) * (separate_ ? 1 : samples_) * bits_ + 7) / 8;
    if (line.size() < needed) damaged("rows are too short");
    for (int plane = 0; plane < planes(); ++plane) {
      for (int y = 0; y < image.height; ++y) {
        if (TIFFReadScanline(tiff_, line.data(), static_cast<uint32_t>(y),
                             static_cast<uint16_t>(plane)) != 1) {
          damaged("pixels cannot be read");
        }
        put_row(line.data(), image.width, separate_ ? plane : -1, image.row(y));
      }
    }
  }

  void read_tiles(Image& image) {
    const int64_t tile_width = required(TIFFTAG_TILEWIDTH, "tile width");
    const int64_t tile_height = required(TIFFTAG_TILELENGTH, "tile height");
    const size_t row_bytes =
        (static_cast<size_t>(tile_width) * (separate_ ? 1 : samples_) * bits_ + 7) / 8;
    const tmsize_t tile_bytes = TIFFTileSize(tiff_);
    if (tile_bytes <= 0 || static_cast<size_t>(tile_bytes) < row_bytes * tile_height) {
      damaged("tiles are too small");
    }
    std::vector<uint8_t> tile(static_cast<size_t>(tile_bytes));
    for (int plane = 0; plane < planes(); ++plane) {
      for (int64_t y = 0; y < image.height; y += tile_height) {
        for (int64_t x = 0; x < image.width; x += tile_width) {
          if (TIFFReadTile(tiff_, tile.data(), static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                           0, static_cast<uint16_t>(plane)) < 0) {
            damaged("pixels cannot be read");
          }
          const int columns = static_cast<int>(std::min(tile_width, image.width - x));
          const int rows = static_cast<int>(std::min(tile_height, image.height - y));
          for (int row = 0; row < rows; ++row) {
            put_row(tile.data() + row * row_bytes, columns, separate_ ? plane : -1,
                    image.row(static_cast<int>(y) + row) + x * 3);
          }
        }
      }
    }
  }

  void read_by_libtiff(Image& image) {
    char reason[1024] = "";
    if (TIFFRGBAImageOK(tiff_, reason) != 1) {
      fail("{}: a TIFF of a kind that is not supported: {}", name_, reason);
    }
    std::vector<uint32_t> raster(static_cast<size_t>(image.width) * image.height);
    // Asking for the file's own orientation gives the pixels as stored.
    if (TIFFReadRGBAImageOriented(tiff_, static_cast<uint32_t>(image.width),
                                  static_cast<uint32_t>(image.height), raster.data(),
                                  field16(TIFFTAG_ORIENTATION), 1) != 1) {
      damaged("pixels cannot be read");
    }
    for (size_t i = 0; i < raster.size(); ++i) {
      image.rgb[i * 3] = TIFFGetR(raster[i]);
      image.rgb[i * 3 + 1] = TIFFGetG(raster[i]);
      image.rgb[i * 3 + 2] = TIFFGetB(raster[i]);
    }
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  const DecodeOptions& options_;
  tmsize_t room_ = 0;  // the most one allocation may take
  uint64_t position_ = 0;
  char message_[256] = {};
  TIFF* tiff_ = nullptr;
  uint16_t bits_ = 0, samples_ = 0, photometric_ = 0, compression_ = 0;
  bool separate_ = false;
  bool plain_ = false;  // its samples are converted here, not by libtiff
  int channels_ = 1;
  std::array<std::array<uint8_t, 256>, 3> colours_ = {};
};

}  // namespace

std::unique_ptr<ImageDecoder> open_tiff(std::span<const uint8_t> bytes, const std::string& name,
                                        const DecodeOptions& options) {
  return std::make_unique<TiffDecoder>(bytes, name, options);
}

}  // namespace vig
