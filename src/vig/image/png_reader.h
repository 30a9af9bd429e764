// A PNG file in memory, opened with libpng: what images and label maps share.
#pragma once

#include <png.h>

#include <csetjmp>
#include <cstdint>
#include <new>
#include <span>
#include <string>

#include "vig/base/error.h"
#include "vig/image/file_bytes.h"
#include "vig/image/formats.h"

namespace vig {

// libpng leaves by longjmp, so no object with a destructor may live in a frame between `guarded`
// and libpng.
class PngReader {
 public:
  // Reads the header and calls check_size. `bytes` and `name` outlive the reader.
  PngReader(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options);
  // Leaves the size to the caller.
  PngReader(FileBytes bytes, const std::string& name);
  ~PngReader();
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  png_structp png() { return png_; }
  png_infop info() { return info_; }
  int width() const { return width_; }
  int height() const { return height_; }
  // The most memory that libpng takes: a few rows of at most four 16-bit channels, and zlib's
  // window.
  uint64_t working_bytes() const;

  bool interlaced() const;
  // From now on rows come as 8-bit RGB. Gives the number of passes.
  int prepare_rgb();

  // Calls of libpng. What it complains of throws Error.
  template <typename F>
  void guarded(const F& read) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      if (no_memory_) throw std::bad_alloc();
      fail("{}: damaged PNG: {}", name_, message_);
    }
    read();
  }

 private:
  void read_header();
  bool read_bytes(uint8_t* out, size_t size);

  FileBytes bytes_;
  const std::string& name_;
  uint64_t position_ = 0;
  int width_ = 0, height_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[256] = {};
  bool no_memory_ = false;
};

// The orientation in the EXIF data of a PNG file, 1 to 8.
int find_png_orientation(const FileBytes& png);

}  // namespace vig
