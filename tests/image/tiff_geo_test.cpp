#include "vig/image/tiff_geo.h"

#include <gtest/gtest.h>
#include <tiffio.h>

#include <cmath>
#include <vector>

#include "image/fixtures.h"
#include "image/tiff_files.h"
#include "vig/image/region_formats.h"

namespace vig::test {
namespace {

// The tags of GeoTIFF are not among those that libtiff knows.
const TIFFFieldInfo kFields[] = {
    {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("scale")},
    {33922, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("tie point")},
    {34264, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("matrix")},
    {34735, -1, -1, TIFF_SHORT, FIELD_CUSTOM, 1, 1, const_cast<char*>("keys")},
    {34737, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("text")},
};

struct Geo {
  std::vector<double> scale = {}, tie = {}, matrix = {};
  std::vector<uint16_t> keys = {};
};

std::optional<GeoTransform> read_geo(const Geo& geo) {
  const auto bytes = write_tiff(
      {}, [](int x, int y, int) { return x + y; },
      [&](TIFF* tiff) {
        TIFFMergeFieldInfo(tiff, kFields, std::size(kFields));
        const auto set = [&](uint32_t tag, const auto& values) {
          if (!values.empty())
            TIFFSetField(tiff, tag, static_cast<int>(values.size()), values.data());
        };
        set(33550, geo.scale);
        set(33922, geo.tie);
        set(34264, geo.matrix);
        set(34735, geo.keys);
        TIFFSetField(tiff, 34737, "somewhere|");
      });
  return open_file_regions(memory_bytes(bytes), "x", {})->geo_transform();
}

TEST(TiffGeo, ScaleAndTiePoint) {
  const auto geo = read_geo({.scale = {0.5, 0.25, 0},
                             .tie = {10, 20, 0, 5000, 7000, 0},
                             .keys = {1, 1, 0, 2, 1025, 0, 1, 1, 3072, 0, 1, 25832}});
  ASSERT_TRUE(geo.has_value());
  EXPECT_EQ(geo->x0, 4995);
  EXPECT_EQ(geo->x_column, 0.5);
  EXPECT_EQ(geo->y0, 7005);
  EXPECT_EQ(geo->y_row, -0.25);
  EXPECT_EQ(geo->x_row, 0);
  EXPECT_EQ(geo->epsg, 25832);
  EXPECT_EQ(geo->key_text, "somewhere|");
}

TEST(TiffGeo, PointsAreCentresOfPixels) {
  const auto geo = read_geo({.scale = {2, 4, 0},
                             .tie = {0, 0, 0, 100, 200, 0},
                             .keys = {1, 1, 0, 2, 1025, 0, 1, 2, 2048, 0, 1, 4326}});
  ASSERT_TRUE(geo.has_value());
  EXPECT_EQ(geo->x0, 99);
  EXPECT_EQ(geo->y0, 202);
  EXPECT_EQ(geo->epsg, 4326);
  EXPECT_EQ(geo->keys[7], 1);  // so that a file with these keys and this corner says the same
}

TEST(TiffGeo, Matrix) {
  const auto geo = read_geo({.matrix = {1, 2, 0, 3, 4, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1}});
  ASSERT_TRUE(geo.has_value());
  EXPECT_EQ(geo->x_column, 1);
  EXPECT_EQ(geo->x_row, 2);
  EXPECT_EQ(geo->x0, 3);
  EXPECT_EQ(geo->y_column, 4);
  EXPECT_EQ(geo->y_row, 5);
  EXPECT_EQ(geo->y0, 6);
  EXPECT_FALSE(geo->epsg.has_value());
}

TEST(TiffGeo, WhatIsNotOneIsNone) {
  EXPECT_FALSE(read_geo({}).has_value());
  EXPECT_FALSE(read_geo({.scale = {1, 1, 0}}).has_value());
  EXPECT_FALSE(read_geo({.scale = {0, 1, 0}, .tie = {0, 0, 0, 1, 1, 0}}).has_value());
  EXPECT_FALSE(read_geo({.scale = {1, NAN, 0}, .tie = {0, 0, 0, 1, 1, 0}}).has_value());
}

}  // namespace
}  // namespace vig::test
