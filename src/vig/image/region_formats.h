// One reader of regions per file format, behind region_source.h, and what they share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/image/file_bytes.h"
#include "vig/image/image.h"
#include "vig/image/region_source.h"

namespace vig {

// Throws Error for images without pixels and for sides above a fixed limit of 2^24.
void check_region_size(const std::string& name, int64_t width, int64_t height);

// Rows decoded from the top.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The next row as RGB; the first one after construction and restart().
  virtual void read_row(uint8_t* rgb) = 0;
  virtual void restart() = 0;
};

// Regions from rows in order. Keeps the last rows, as many as `cache_bytes` hold, at least one.
class RowBand {
 public:
  RowBand(int64_t width, int64_t height, uint64_t cache_bytes);
  Image read(RowReader& reader, const ImageRegion& region);

 private:
  uint8_t* kept(int64_t y) {
    return rows_.data() + static_cast<size_t>(y % capacity_ * width_ * 3);
  }

  int64_t width_;
  int64_t capacity_;              // rows
  int64_t first_ = 0, next_ = 0;  // rows [first_, next_) are kept, next_ is read next
  std::vector<uint8_t> rows_;
  bool failed_ = false;  // the reader threw: it can only restart
};

// The region of the stored image that `region` of the image turned by `orientation` shows.
ImageRegion stored_region(const ImageRegion& region, int64_t stored_width, int64_t stored_height,
                          int orientation);

// Those for JPEG and PNG give null for files that can only be decoded whole: of several scans or
// with arithmetic coding, interlaced, or turned.
std::unique_ptr<RegionSource> open_jpeg_rows(FileBytes file, std::string name,
                                             const RegionLimits& limits);
std::unique_ptr<RegionSource> open_png_rows(FileBytes file, std::string name,
                                            const RegionLimits& limits);
std::unique_ptr<RegionSource> open_tiff_regions(FileBytes file, std::string name,
                                                const RegionLimits& limits);
// The right one of them by content. Null: a format that is decoded whole.
std::unique_ptr<RegionSource> open_file_regions(FileBytes file, const std::string& name,
                                                const RegionLimits& limits);
// By OpenSlide, which is loaded at the first call. Null: not a slide. Throws Error naming the
// package where the library is missing.
std::unique_ptr<RegionSource> open_slide(const std::string& path, const RegionLimits& limits);
// Names of slides, which have other formats inside: ".svs", ".ndpi", ".mrxs", ...
bool has_slide_extension(const std::string& path);

}  // namespace vig
