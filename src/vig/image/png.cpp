// PNG by libpng.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "vig/base/error.h"
#include "vig/image/exif.h"
#include "vig/image/formats.h"

namespace vig {
namespace {

constexpr size_t kSignatureBytes = 8;
constexpr size_t kMaxChunkBytes = size_t{1} << 20;  // a palette, the largest one kept, has 768

// EXIF may stand after the pixels, so libpng would have to read to the end; going through the
// chunks is simpler and also works for files that lack it.
int find_orientation(std::span<const uint8_t> png) {
  size_t at = kSignatureBytes;
  while (png.size() - at >= 12) {
    const size_t size =
        static_cast<size_t>(png[at]) << 24 | png[at + 1] << 16 | png[at + 2] << 8 | png[at + 3];
    if (size > png.size() - at - 12) break;
    if (std::memcmp(png.data() + at + 4, "eXIf", 4) == 0) {
      return exif_orientation(png.subspan(at + 8, size));
    }
    at += size + 12;
  }
  return 1;
}

// libpng leaves by longjmp, so no object with a destructor may live in a frame between `guarded`
// and libpng.
class PngDecoder : public PictureDecoder {
 public:
  PngDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : bytes_(bytes), name_(name) {
    png_ = png_create_read_struct_2(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp message) {
          auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
          std::snprintf(self.message_, sizeof(self.message_), "%s", message);
          png_longjmp(png, 1);
        },
        [](png_structp, png_const_charp) {}, this,
        [](png_structp png, png_alloc_size_t size) -> png_voidp {
          void* memory = std::malloc(size);
          if (memory == nullptr) static_cast<PngDecoder*>(png_get_mem_ptr(png))->no_memory_ = true;
          return memory;
        },
        [](png_structp, png_voidp memory) { std::free(memory); });
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    try {
      read_header(options);
    } catch (...) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw;
    }
  }
  ~PngDecoder() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  Image decode() override {
    int passes = 0;
    guarded([&] {
      png_set_palette_to_rgb(png_);
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_strip_16(png_);
      png_set_strip_alpha(png_);
      png_set_gray_to_rgb(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });

    Image image(header_.width, header_.height);
    if (png_get_rowbytes(png_, info_) != image.row_bytes()) {
      fail("{}: a PNG row of {} bytes, expected {}", name_, png_get_rowbytes(png_, info_),
           image.row_bytes());
    }
    guarded([&] {
      for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) png_read_row(png_, image.row(y), nullptr);
      }
    });
    return image;
  }

 private:
  void read_header(const DecodeOptions& options) {
    guarded([&] {
      png_set_read_fn(png_, this, [](png_structp png, png_bytep out, size_t size) {
        auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(png));
        if (size > self.bytes_.size() - self.position_) png_error(png, "the file ends early");
        std::memcpy(out, self.bytes_.data() + self.position_, size);
        self.position_ += size;
      });
      // Text, profiles and the like are skipped unread: they change no pixel here, and compressed
      // ones may be bombs.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_set_chunk_malloc_max(png_, kMaxChunkBytes);
      // The size is left to check_size: its limit is an option and its message names both.
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_read_info(png_, info_);
    });
    const int64_t width = png_get_image_width(png_, info_);
    const int64_t height = png_get_image_height(png_, info_);
    check_size(name_, width, height, options);
    // A few rows of at most four 16-bit channels, and zlib's window.
    constexpr uint64_t kRows = 6, kMaxPixelBytes = 8, kFixed = kMaxChunkBytes;
    header_ = {.width = static_cast<int>(width),
               .height = static_cast<int>(height),
               .orientation = find_orientation(bytes_),
               .working_bytes = kFixed + kRows * kMaxPixelBytes * static_cast<uint64_t>(width)};
  }

  template <typename Step>
  void guarded(const Step& step) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      if (no_memory_) throw std::bad_alloc();
      fail("{}: damaged PNG: {}", name_, message_);
    }
    step();
  }

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  size_t position_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[256] = {};
  bool no_memory_ = false;
};

}  // namespace

std::unique_ptr<PictureDecoder> open_png(std::span<const uint8_t> bytes, const std::string& name,
                                         const DecodeOptions& options) {
  return std::make_unique<PngDecoder>(bytes, name, options);
}

}  // namespace vig
