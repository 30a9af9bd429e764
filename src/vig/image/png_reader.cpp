#include "vig/image/png_reader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "vig/image/exif.h"

namespace vig {
namespace {

constexpr size_t kMaxChunkBytes = size_t{1} << 20;  // a palette, the largest one kept, has 768

}  // namespace

PngReader::PngReader(std::span<const uint8_t> bytes, const std::string& name,
                     const DecodeOptions& options)
    : PngReader(memory_bytes(bytes), name) {
  check_size(name_, width_, height_, options);
}

PngReader::PngReader(FileBytes bytes, const std::string& name)
    : bytes_(std::move(bytes)), name_(name) {
  png_ = png_create_read_struct_2(
      PNG_LIBPNG_VER_STRING, this,
      [](png_structp png, png_const_charp message) {
        auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
        std::snprintf(self.message_, sizeof(self.message_), "%s", message);
        png_longjmp(png, 1);
      },
      [](png_structp, png_const_charp) {}, this,
      [](png_structp png, png_alloc_size_t size) -> png_voidp {
        void* memory = std::malloc(size);
        if (memory == nullptr) static_cast<PngReader*>(png_get_mem_ptr(png))->no_memory_ = true;
        return memory;
      },
      [](png_structp, png_voidp memory) { std::free(memory); });
  info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
  if (info_ == nullptr) {
    png_destroy_read_struct(&png_, nullptr, nullptr);
    throw std::bad_alloc();
  }
  try {
    read_header();
  } catch (...) {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw;
  }
}

PngReader::~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

uint64_t PngReader::working_bytes() const {
  constexpr uint64_t kRows = 6, kMaxPixelBytes = 8, kFixed = kMaxChunkBytes;
  return kFixed + kRows * kMaxPixelBytes * static_cast<uint64_t>(width_);
}

void PngReader::read_header() {
  guarded([&] {
    png_set_read_fn(png_, this, [](png_structp png, png_bytep out, size_t size) {
      auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
      if (!self.read_bytes(out, size)) png_error(png, "the file ends early");
    });
    // Text, profiles and the like are skipped unread: they change no pixel here, and compressed
    // ones may be bombs.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_chunk_malloc_max(png_, kMaxChunkBytes);
    // The size is left to check_size: its limit is an option and its message names both.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png_, info_);
  });
  width_ = static_cast<int>(png_get_image_width(png_, info_));
  height_ = static_cast<int>(png_get_image_height(png_, info_));
}

// Called by libpng, through which nothing may be thrown.
bool PngReader::read_bytes(uint8_t* out, size_t size) {
  try {
    const size_t got = bytes_.read(position_, out, size);
    position_ += got;
    return got == size;
  } catch (const std::exception&) {
    return false;
  }
}

bool PngReader::interlaced() const {
  return png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
}

int PngReader::prepare_rgb() {
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
  const size_t expected = static_cast<size_t>(width_) * 3;
  if (png_get_rowbytes(png_, info_) != expected) {
    fail("{}: a PNG row of {} bytes, expected {}", name_, png_get_rowbytes(png_, info_), expected);
  }
  return passes;
}

// EXIF may stand after the pixels, so libpng would have to read to the end; going through the
// chunks is simpler and also works for files that lack it.
int find_png_orientation(const FileBytes& png) {
  constexpr uint64_t kSignatureBytes = 8, kMaxExif = 1 << 16;
  for (uint64_t at = kSignatureBytes; at <= png.size && png.size - at >= 12;) {
    uint8_t start[8];
    if (png.read(at, start, sizeof(start)) != sizeof(start)) break;
    const uint64_t size =
        static_cast<uint64_t>(start[0]) << 24 | start[1] << 16 | start[2] << 8 | start[3];
    if (size > png.size - at - 12) break;
    if (std::memcmp(start + 4, "eXIf", 4) == 0) {
      std::vector<uint8_t> exif(std::min(size, kMaxExif));
      exif.resize(png.read(at + 8, exif.data(), exif.size()));
      return exif_orientation(exif);
    }
    at += size + 12;
  }
  return 1;
}

}  // namespace vig
