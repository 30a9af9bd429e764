#include "vig/image/tiff_page.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/jpeg_segments.h"

namespace vig {
namespace {

// Bounds the memory of one row; more samples than colour and a few masks are not a photograph.
constexpr int kMaxSamples = 16;

int ignore_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace

TiffPage::TiffPage(const FileBytes& bytes, const std::string& name, int64_t most_allocated,
                   uint64_t directory)
    : bytes_(bytes), name_(name) {
  open(most_allocated, directory);
  try {
    read_header();
  } catch (...) {
    TIFFClose(tiff_);
    throw;
  }
}

TiffPage::~TiffPage() { TIFFClose(tiff_); }

void TiffPage::open(int64_t most_allocated, uint64_t directory) {
  errno = 0;
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, most_allocated);
  TIFFOpenOptionsSetErrorHandlerExtR(
      options,
      [](TIFF*, void* self, const char*, const char* format, va_list args) {
        auto& message = static_cast<TiffPage*>(self)->message_;
        if (message[0] == '\0') std::vsnprintf(message, sizeof(message), format, args);
        return 1;  // handled: nothing is printed
      },
      this);
  TIFFOpenOptionsSetWarningHandlerExtR(options, &ignore_message, nullptr);
  // 'm': no memory mapping. 'h': no directory yet, 'O': of its tables only what is asked for.
  tiff_ = TIFFClientOpenExt(
      "", directory == 0 ? "rm" : "rmhO", this,
      [](thandle_t handle, void* out, tmsize_t size) -> tmsize_t {
        auto& self = *static_cast<TiffPage*>(handle);
        size_t count = 0;
        try {  // through libtiff, which is C
          count = self.bytes_.read(self.position_, out, static_cast<size_t>(size));
        } catch (const std::exception& error) {
          std::snprintf(self.message_, sizeof(self.message_), "%s", error.what());
        }
        self.position_ += count;
        return static_cast<tmsize_t>(count);
      },
      [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; },
      [](thandle_t handle, toff_t offset, int from) -> toff_t {
        auto& self = *static_cast<TiffPage*>(handle);
        if (from == SEEK_CUR) offset += self.position_;
        if (from == SEEK_END) offset += self.bytes_.size;
        return self.position_ = offset;
      },
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return static_cast<TiffPage*>(handle)->bytes_.size; },
      nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  if (tiff_ == nullptr) damaged("no valid header or first page");
  if (directory != 0 && TIFFSetSubDirectory(tiff_, directory) != 1) {
    TIFFClose(tiff_);
    damaged("no valid page");
  }
}

void TiffPage::read_header() {
  width_ = required(TIFFTAG_IMAGEWIDTH, "width");
  height_ = required(TIFFTAG_IMAGELENGTH, "height");
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
  orientation_ = orientation >= 1 && orientation <= 8 ? orientation : 1;
}

void TiffPage::check_jpeg(std::span<const uint8_t> jpeg) const {
  constexpr uint8_t kBaseline = 0xC0, kExtended = 0xC1, kTables = 0xC4, kLastFrame = 0xCF;
  for (JpegSegments segments(jpeg); segments.next();) {
    const uint8_t marker = segments.marker();
    if (marker < kBaseline || marker > kLastFrame || marker == kTables) continue;
    if (marker == kBaseline || marker == kExtended) continue;
    fail("{}: a TIFF with JPEG data of kind {:02x}, expected sequential Huffman coding", name_,
         marker);
  }
}

void TiffPage::damaged(const char* what) const {
  // Of a failed allocation libtiff says as little as of a damaged file.
  if (errno == ENOMEM) throw std::bad_alloc();
  fail("{}: damaged TIFF: {}", name_, message_[0] != '\0' ? message_ : what);
}

uint32_t TiffPage::required(uint32_t tag, const char* what) {
  uint32_t value = 0;
  if (TIFFGetField(tiff_, tag, &value) != 1) fail("{}: damaged TIFF: no {}", name_, what);
  return value;
}

uint16_t TiffPage::field16(uint32_t tag) {
  uint16_t value = 0;
  TIFFGetFieldDefaulted(tiff_, tag, &value);
  return value;
}

bool TiffPage::is_plain() {
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
void TiffPage::prepare_colours() {
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
int TiffPage::sample(const uint8_t* row, size_t i) const {
  if (bits_ == 8) return row[i];
  if (bits_ == 16) {
    uint16_t value;
    std::memcpy(&value, row + i * 2, 2);
    return value >> 8;
  }
  const size_t bit = i * bits_;
  return row[bit / 8] >> (8 - bits_ - bit % 8) & ((1 << bits_) - 1);
}

// Where planes are separate, `plane` is the channel in `row`.
void TiffPage::put_row(const uint8_t* row, int64_t count, int plane, uint8_t* rgb) const {
  const size_t stride = separate_ ? 1 : samples_;
  if (bits_ == 8 && !separate_) {  // nearly all files
    const size_t next = channels_ == 3 ? 1 : 0;
    for (int64_t x = 0; x < count; ++x, row += stride, rgb += 3) {
      rgb[0] = colours_[0][row[0]];
      rgb[1] = colours_[1][row[next]];
      rgb[2] = colours_[2][row[2 * next]];
    }
    return;
  }
  for (int64_t x = 0; x < count; ++x) {
    for (int c = 0; c < 3; ++c) {
      if (channels_ == 3 && separate_ && plane != c) continue;
      const size_t offset = channels_ == 3 && !separate_ ? c : 0;
      rgb[x * 3 + c] = colours_[c][sample(row, static_cast<size_t>(x) * stride + offset)];
    }
  }
}

Image TiffPage::read_converted(int64_t x, int64_t y, int width, int height) {
  char reason[1024] = "";
  TIFFRGBAImage converter;
  if (TIFFRGBAImageOK(tiff_, reason) != 1 ||
      TIFFRGBAImageBegin(&converter, tiff_, 1, reason) != 1) {
    if (errno == ENOMEM) throw std::bad_alloc();
    fail("{}: a TIFF of a kind that is not supported: {}", name_, reason);
  }
  const auto end = [](TIFFRGBAImage* image) { TIFFRGBAImageEnd(image); };
  const std::unique_ptr<TIFFRGBAImage, decltype(end)> open(&converter, end);
  // Asking for the file's own orientation gives the pixels as stored.
  converter.req_orientation = field16(TIFFTAG_ORIENTATION);
  converter.col_offset = static_cast<int>(x);
  converter.row_offset = static_cast<int>(y);
  std::vector<uint32_t> raster(static_cast<size_t>(width) * static_cast<size_t>(height));
  if (TIFFRGBAImageGet(&converter, raster.data(), static_cast<uint32_t>(width),
                       static_cast<uint32_t>(height)) != 1) {
    damaged("pixels cannot be read");
  }
  Image image(width, height);
  for (size_t i = 0; i < raster.size(); ++i) {
    image.rgb[i * 3] = TIFFGetR(raster[i]);
    image.rgb[i * 3 + 1] = TIFFGetG(raster[i]);
    image.rgb[i * 3 + 2] = TIFFGetB(raster[i]);
  }
  return image;
}

}  // namespace vig
