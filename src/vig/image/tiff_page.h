// A page of a TIFF file opened with libtiff: what its samples mean, and their conversion to RGB.
// The decoder of whole images and the reader of regions share it.
//
// Gray, palette and RGB are converted sample by sample here, because libtiff's own conversion
// multiplies colours by alpha; it serves for the rest (YCbCr, CMYK, Lab).
#pragma once

#include <tiffio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "vig/image/file_bytes.h"
#include "vig/image/image.h"

namespace vig {

class TiffPage {
 public:
  // The first page, or the one whose directory is at `directory`. libtiff takes at most
  // `most_allocated` bytes at a time. `bytes` and `name` outlive the page. Throws Error.
  TiffPage(const FileBytes& bytes, const std::string& name, int64_t most_allocated,
           uint64_t directory = 0);
  TiffPage(const TiffPage&) = delete;
  TiffPage& operator=(const TiffPage&) = delete;
  ~TiffPage();

  TIFF* tiff() { return tiff_; }
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  int orientation() const { return orientation_; }  // 1 to 8
  uint64_t bits() const { return bits_; }
  uint64_t samples() const { return samples_; }
  uint16_t compression() const { return compression_; }
  bool separate() const { return separate_; }  // each sample in a plane of its own
  bool plain() const { return plain_; }        // its samples are converted here, not by libtiff
  bool tiled() { return TIFFIsTiled(tiff_) != 0; }
  int64_t tile_width() { return required(TIFFTAG_TILEWIDTH, "tile width"); }
  int64_t tile_height() { return required(TIFFTAG_TILELENGTH, "tile height"); }
  // Planes that have colour.
  int planes() const { return separate_ ? channels_ : 1; }
  uint64_t row_bytes(int64_t width) const {
    return (static_cast<uint64_t>(width) * (separate_ ? 1 : samples_) * bits_ + 7) / 8;
  }

  // Throws Error unless JPEG data of a strip or tile is sequential: TIFF knows no progressive JPEG,
  // libtiff decodes it, with up to 100 scans for every piece.
  void check_jpeg(std::span<const uint8_t> jpeg) const;

  // Writes `count` pixels from a row of samples as libtiff delivers them.
  void put_row(const uint8_t* row, int64_t count, int plane, uint8_t* rgb) const;
  // A part of the image that begins and ends with strips or tiles, converted by libtiff.
  Image read_converted(int64_t x, int64_t y, int width, int height);

  // What libtiff complained of, or `what`.
  [[noreturn]] void damaged(const char* what) const;

 private:
  void open(int64_t most_allocated, uint64_t directory);
  void read_header();
  uint32_t required(uint32_t tag, const char* what);
  uint16_t field16(uint32_t tag);
  bool is_plain();
  void prepare_colours();
  int sample(const uint8_t* row, size_t i) const;

  const FileBytes& bytes_;
  const std::string& name_;
  uint64_t position_ = 0;
  char message_[256] = {};
  TIFF* tiff_ = nullptr;
  int64_t width_ = 0, height_ = 0;
  int orientation_ = 1;
  uint16_t bits_ = 0, samples_ = 0, photometric_ = 0, compression_ = 0;
  bool separate_ = false;
  bool plain_ = false;
  int channels_ = 1;
  std::array<std::array<uint8_t, 256>, 3> colours_ = {};
};

}  // namespace vig
