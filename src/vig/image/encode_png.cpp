#include "vig/image/encode_png.h"

#include <png.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <new>

#include "vig/base/error.h"

namespace vig {
namespace {

// libpng leaves by longjmp, so no object with a destructor may live in a frame between `write` and
// libpng; bytes are collected in memory of our own.
class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(
        PNG_LIBPNG_VER_STRING, nullptr,
        [](png_structp png, png_const_charp) { png_longjmp(png, 1); },
        [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
  }
  ~PngWriter() {
    png_destroy_write_struct(&png_, &info_);
    std::free(bytes_);
  }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  // False when there is no memory: the only failure with an image whose sides are ints.
  bool write(const uint8_t* pixels, size_t row_bytes, int width, int height,
             std::span<const std::array<uint8_t, 3>> palette) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_write_fn(
        png_, this,
        [](png_structp png, png_bytep data, size_t size) {
          if (!static_cast<PngWriter*>(png_get_io_ptr(png))->append(data, size)) {
            png_error(png, "not enough memory");
          }
        },
        [](png_structp) {});
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8,
                 palette.empty() ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (!palette.empty()) {
      png_color colors[PNG_MAX_PALETTE_LENGTH];
      for (size_t i = 0; i < palette.size(); ++i) {
        colors[i] = {palette[i][0], palette[i][1], palette[i][2]};
      }
      png_set_PLTE(png_, info_, colors, static_cast<int>(palette.size()));
    }
    // Of a large image people wait longer for the last percent of its size than it is worth.
    constexpr int64_t kLarge = int64_t{4} << 20;
    if (int64_t{width} * height > kLarge) {
      png_set_compression_level(png_, 1);
      png_set_filter(png_, PNG_FILTER_TYPE_BASE,
                     palette.empty() ? PNG_FILTER_SUB : PNG_FILTER_NONE);
    }
    png_write_info(png_, info_);
    for (int y = 0; y < height; ++y) {
      png_write_row(png_, pixels + static_cast<size_t>(y) * row_bytes);
    }
    png_write_end(png_, info_);
    return true;
  }

  std::vector<uint8_t> bytes() const { return {bytes_, bytes_ + size_}; }

 private:
  bool append(const uint8_t* data, size_t size) {
    if (size > capacity_ - size_) {
      const size_t grown = (size_ + size) * 2;
      auto* moved = static_cast<uint8_t*>(std::realloc(bytes_, grown));
      if (moved == nullptr) return false;
      bytes_ = moved;
      capacity_ = grown;
    }
    std::memcpy(bytes_ + size_, data, size);
    size_ += size;
    return true;
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  uint8_t* bytes_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

std::vector<uint8_t> write_png(std::span<const uint8_t> pixels, int channels, int width, int height,
                               std::span<const std::array<uint8_t, 3>> palette) {
  const size_t row_bytes = static_cast<size_t>(width) * static_cast<size_t>(channels);
  if (width < 1 || height < 1 || pixels.size() != row_bytes * static_cast<size_t>(height)) {
    fail_usage("an image of {}x{} pixels in {} bytes, expected at least one pixel and {} a pixel",
               width, height, pixels.size(), channels);
  }
  PngWriter writer;
  if (!writer.write(pixels.data(), row_bytes, width, height, palette)) throw std::bad_alloc();
  return writer.bytes();
}

}  // namespace

std::vector<uint8_t> encode_png(const Image& image) {
  return write_png(image.rgb, 3, image.width, image.height, {});
}

std::vector<uint8_t> encode_palette_png(std::span<const uint8_t> indices, int width, int height,
                                        std::span<const std::array<uint8_t, 3>> palette) {
  if (palette.empty() || palette.size() > 256) {
    fail_usage("a palette of {} colours, expected 1 to 256", palette.size());
  }
  return write_png(indices, 1, width, height, palette);
}

}  // namespace vig
