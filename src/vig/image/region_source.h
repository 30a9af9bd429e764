// Image files whose regions are read without decoding the rest.
//
// TIFF and BigTIFF, tiled or in strips, and slides (SVS, NDPI, MRXS and others by OpenSlide) are
// read at any location, pyramids with their levels. Sequential JPEG and PNG without interlacing are
// read by bands of rows, in order. Other formats are decoded whole when they are opened, under the
// limits of decode.h.
//
// Pixels are those of decode.h: regions of level 0 equal the crop of the image that it gives.
// Files are not trusted: opening reads headers and tables alone, which are checked against the size
// of the file, and reading takes memory in proportion to the region, the cache and one tile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vig/image/image.h"

namespace vig {

// Pixels of one level.
struct ImageRegion {
  int64_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const ImageRegion&) const = default;
};

struct RegionLevel {
  int64_t width = 0, height = 0;
  double downsample = 1;  // pixels of level 0 along one of this level
  bool operator==(const RegionLevel&) const = default;
};

// From pixels of level 0 to coordinates of a map: x = x0 + column * x_column + row * x_row, y
// likewise. Column 0, row 0 is the outer corner of the first pixel.
struct GeoTransform {
  double x0 = 0, x_column = 1, x_row = 0;
  double y0 = 0, y_column = 0, y_row = 1;
  std::optional<int> epsg = {};  // of the coordinate system, where it has one
  // GeoTIFF's description of the coordinate system, for files made from this one.
  std::vector<uint16_t> keys = {};
  std::vector<double> key_numbers = {};
  std::string key_text = {};
  bool operator==(const GeoTransform&) const = default;
};

struct RegionLimits {
  // The orientation holds for all formats, max_pixels for those that are decoded whole.
  DecodeOptions decode = {};
  int64_t max_region_pixels = int64_t{1} << 26;  // of one read
  uint64_t cache_bytes = uint64_t{64} << 20;     // decoded tiles or rows kept between reads
};

// Not thread-safe: one call at a time. All throw Error naming the file.
class RegionSource {
 public:
  virtual ~RegionSource() = default;
  RegionSource(const RegionSource&) = delete;
  RegionSource& operator=(const RegionSource&) = delete;

  // At least one: level 0 is the image, further ones are smaller and smaller.
  const std::vector<RegionLevel>& levels() const { return levels_; }
  const std::optional<double>& microns_per_pixel() const { return microns_per_pixel_; }  // level 0
  const std::optional<GeoTransform>& geo_transform() const { return geo_transform_; }
  // Rows are decoded from the top: reading above the rows still in memory (as many as
  // RegionLimits::cache_bytes holds) restarts at the first row.
  bool sequential() const { return sequential_; }

  // The pixels of `region`, which lies inside of `level`. Throws Error (usage) where it does not,
  // and for more than RegionLimits::max_region_pixels.
  Image read(int level, const ImageRegion& region);

 protected:
  RegionSource(std::string name, const RegionLimits& limits);

  // `level` and `region` were checked.
  virtual Image read_region(int level, const ImageRegion& region) = 0;

  const std::string name_;  // for messages
  const RegionLimits limits_;
  std::vector<RegionLevel> levels_;
  std::optional<double> microns_per_pixel_;
  std::optional<GeoTransform> geo_transform_;
  bool sequential_ = false;
};

std::unique_ptr<RegionSource> open_regions(const std::filesystem::path& path,
                                           const RegionLimits& limits = {});
// A decoded image as a source.
std::unique_ptr<RegionSource> regions_of(Image image, const RegionLimits& limits = {});

}  // namespace vig
