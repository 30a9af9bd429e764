#include "vig/image/tiff_geo.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vig {
namespace {

constexpr uint16_t kPixelScale = 33550, kTiepoint = 33922, kTransformation = 34264;
constexpr uint16_t kGeoKeys = 34735, kGeoNumbers = 34736, kGeoText = 34737;
constexpr uint64_t kMaxGeoValues = 4096;

// Key numbers and values of GeoTIFF.
constexpr uint16_t kRasterType = 1025, kGeographicSystem = 2048, kProjectedSystem = 3072;
constexpr uint16_t kPixelIsArea = 1, kPixelIsPoint = 2, kUserDefined = 32767;

// The value of a key stored beside it, in a list of four numbers per key; the first four are a
// header.
uint16_t* find_key(std::vector<uint16_t>& keys, uint16_t key) {
  for (size_t i = 4; i + 4 <= keys.size(); i += 4) {
    if (keys[i] == key && keys[i + 1] == 0) return &keys[i + 3];
  }
  return nullptr;
}

}  // namespace

std::optional<GeoTransform> tiff_geo_transform(const TiffTags& tags) {
  GeoTransform geo;
  const std::vector<double> matrix = tags.numbers(kTransformation, 16);
  const std::vector<double> scale = tags.numbers(kPixelScale, 3);
  const std::vector<double> tie = tags.numbers(kTiepoint, 6);
  if (matrix.size() == 16) {
    geo.x_column = matrix[0];
    geo.x_row = matrix[1];
    geo.x0 = matrix[3];
    geo.y_column = matrix[4];
    geo.y_row = matrix[5];
    geo.y0 = matrix[7];
  } else if (scale.size() >= 2 && tie.size() == 6) {
    geo.x_column = scale[0];
    geo.y_row = -scale[1];
    geo.x0 = tie[3] - tie[0] * geo.x_column;
    geo.y0 = tie[4] - tie[1] * geo.y_row;
  } else {
    return std::nullopt;
  }
  for (const uint64_t key : tags.integers(kGeoKeys, kMaxGeoValues)) {
    geo.keys.push_back(static_cast<uint16_t>(key));
  }
  geo.key_numbers = tags.numbers(kGeoNumbers, kMaxGeoValues);
  geo.key_text = tags.text(kGeoText, kMaxGeoValues);
  uint16_t* raster = find_key(geo.keys, kRasterType);
  if (raster != nullptr && *raster == kPixelIsPoint) {
    // The file counts from the centre of the first pixel.
    geo.x0 -= (geo.x_column + geo.x_row) / 2;
    geo.y0 -= (geo.y_column + geo.y_row) / 2;
    *raster = kPixelIsArea;
  }
  for (const uint16_t system : {kProjectedSystem, kGeographicSystem}) {
    const uint16_t* code = find_key(geo.keys, system);
    if (code == nullptr || *code == 0 || *code >= kUserDefined || geo.epsg) continue;
    geo.epsg = *code;
  }
  const auto all = {geo.x0, geo.x_column, geo.x_row, geo.y0, geo.y_column, geo.y_row};
  const bool finite = std::ranges::all_of(all, [](double value) { return std::isfinite(value); });
  if (!finite || geo.x_column * geo.y_row == geo.x_row * geo.y_column) return std::nullopt;
  return geo;
}

std::optional<double> tiff_microns_per_pixel(const TiffTags& tags) {
  constexpr uint16_t kXResolution = 282, kResolutionUnit = 296;
  constexpr uint64_t kInch = 2, kCentimetre = 3;
  const std::vector<double> resolution = tags.numbers(kXResolution, 1);
  const uint64_t unit = tags.integer(kResolutionUnit, kInch);
  if (resolution.empty() || (unit != kInch && unit != kCentimetre)) return std::nullopt;
  const double microns = (unit == kInch ? 25400 : 10000) / resolution[0];
  if (!std::isfinite(microns) || microns <= 0) return std::nullopt;
  return microns;
}

}  // namespace vig
