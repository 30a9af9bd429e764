#include "vig/image/png_reader.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vig {
namespace {

constexpr size_t kMaxChunkBytes = size_t{1} << 20;  // a palette, the largest one kept, has 768

}  // namespace

PngReader::PngReader(std::span<const uint8_t> bytes, const std::string& name,
                     const DecodeOptions& options)
    : bytes_(bytes), name_(name) {
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
    read_header(options);
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

void PngReader::read_header(const DecodeOptions& options) {
  guarded([&] {
    png_set_read_fn(png_, this, [](png_structp png, png_bytep out, size_t size) {
      auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
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
  width_ = static_cast<int>(width);
  height_ = static_cast<int>(height);
}

}  // namespace vig
