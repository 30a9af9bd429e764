// What is written band by band, read back by regions.
#include "vig/image/region_writer.h"

#include <gtest/gtest.h>
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "support/errors.h"
#include "vig/image/decode.h"
#include "vig/image/region_formats.h"

namespace vig::test {
namespace {

struct Written {
  std::vector<uint8_t> bytes;

  void write(const void* data, size_t size) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
  }
  void rewrite_begin(const void* data, size_t size) { std::memcpy(bytes.data(), data, size); }
};

// Rows of `channels` bytes a pixel, in bands of 1, 2, 3, ... rows.
std::vector<uint8_t> write_bands(const TiffBandFormat& format, const std::vector<uint8_t>& pixels) {
  Written file;
  TiffBandWriter writer(byte_sink(file), format);
  int64_t band = 1;
  for (int64_t y = 0; y < format.height; ++band) {
    const int64_t rows = std::min(band, format.height - y);
    writer.write_rows(pixels.data() + y * format.width * format.channels, rows);
    y += rows;
    EXPECT_EQ(writer.rows_written(), y);
  }
  writer.finish();
  return file.bytes;
}

std::vector<uint8_t> pixels_of(const TiffBandFormat& format) {
  std::vector<uint8_t> pixels(static_cast<size_t>(format.width * format.height * format.channels));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 7 + i % 61);
  return pixels;
}

Image level_image(RegionSource& source, int level) {
  const RegionLevel& size = source.levels()[static_cast<size_t>(level)];
  return source.read(level, {0, 0, size.width, size.height});
}

TEST(RegionWriter, RgbIsReadBack) {
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(256, 256), std::pair(257, 1),
                                      std::pair(700, 513), std::pair(3, 1030)}) {
    SCOPED_TRACE(testing::Message() << width << "x" << height);
    const TiffBandFormat format = {.width = width, .height = height};
    Image expected(width, height);
    expected.rgb = pixels_of(format);
    const auto bytes = write_bands(format, expected.rgb);
    EXPECT_EQ(decode_image(bytes, "x"), expected);
    const auto source = open_file_regions(memory_bytes(bytes), "x", {});
    // Every level is the mean of the one before.
    for (size_t level = 0; level < source->levels().size(); ++level) {
      ASSERT_EQ(level_image(*source, static_cast<int>(level)), expected) << level;
      Image half((expected.width + 1) / 2, (expected.height + 1) / 2);
      for (int y = 0; y < half.height; ++y) {
        for (int x = 0; x < half.width * 3; ++x) {
          const int left = x / 3 * 6 + x % 3;
          const int right = std::min(x / 3 * 2 + 1, expected.width - 1) * 3 + x % 3;
          const uint8_t* upper = expected.row(2 * y);
          const uint8_t* lower = expected.row(std::min(2 * y + 1, expected.height - 1));
          half.row(y)[x] = static_cast<uint8_t>(
              (upper[left] + upper[right] + lower[left] + lower[right] + 2) / 4);
        }
      }
      expected = half;
    }
    EXPECT_LE(std::max(source->levels().back().width, source->levels().back().height), 256);
  }
}

TEST(RegionWriter, LabelsAreNeverMixed) {
  TiffBandFormat format = {.width = 601, .height = 900, .channels = 1};
  for (int i = 0; i < 256; ++i) {
    format.palette.push_back({static_cast<uint8_t>(i), static_cast<uint8_t>(255 - i), 9});
  }
  std::vector<uint8_t> labels = pixels_of(format);
  const auto bytes = write_bands(format, labels);
  const auto source = open_file_regions(memory_bytes(bytes), "x", {});
  ASSERT_EQ(source->levels().size(), 3u);
  for (int level = 0; level < 3; ++level) {
    const Image image = level_image(*source, level);
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const uint8_t label =
            labels[static_cast<size_t>((y << level) * format.width + (x << level))];
        ASSERT_EQ(image.row(y)[x * 3], label);
        ASSERT_EQ(image.row(y)[x * 3 + 1], 255 - label);
        ASSERT_EQ(image.row(y)[x * 3 + 2], 9);
      }
    }
  }
  format.palette.clear();
  const Image gray = decode_image(write_bands(format, labels), "x");
  for (size_t i = 0; i < labels.size(); ++i) ASSERT_EQ(gray.rgb[i * 3], labels[i]);
}

TEST(RegionWriter, SaysWherePixelsLie) {
  GeoTransform north_up = {
      .x0 = 500.5, .x_column = 0.25, .y0 = 9000, .y_row = -0.25, .epsg = 25832};
  north_up.keys = {1, 1, 0, 1, 3072, 0, 1, 25832};
  north_up.key_numbers = {1.5, 2.5};
  north_up.key_text = "somewhere|";
  GeoTransform turned = north_up;
  turned.x_row = 0.125;
  turned.y_column = 0.5;
  GeoTransform upwards = north_up;
  upwards.y_row = 0.25;
  for (const GeoTransform& geo : {north_up, turned, upwards}) {
    const TiffBandFormat format = {
        .width = 300, .height = 20, .microns_per_pixel = 0.2528, .geo_transform = geo};
    const auto bytes = write_bands(format, pixels_of(format));
    const auto source = open_file_regions(memory_bytes(bytes), "x", {});
    EXPECT_NEAR(source->microns_per_pixel().value_or(0), 0.2528, 1e-8);
    EXPECT_EQ(source->geo_transform(), geo);
  }
  for (const double microns : {1e-4, 0.5, 352.8, 1e6, 1e9}) {
    const TiffBandFormat format = {.width = 1, .height = 1, .microns_per_pixel = microns};
    const auto bytes = write_bands(format, pixels_of(format));
    const auto source = open_file_regions(memory_bytes(bytes), "x", {});
    EXPECT_NEAR(source->microns_per_pixel().value_or(0) / microns, 1, 1e-4);
  }
}

// Levels beside the first one are pages with the mark of reduced images, which viewers search for.
TEST(RegionWriter, LibtiffReadsEveryPage) {
  const TiffBandFormat format = {.width = 1000, .height = 300};
  const auto bytes = write_bands(format, pixels_of(format));
  const TempDir dir;
  const std::string path = dir / "x.tif";
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  TIFF* tiff = TIFFOpen(path.c_str(), "r");
  ASSERT_NE(tiff, nullptr);
  EXPECT_TRUE(TIFFIsBigTIFF(tiff));
  uint32_t width = 1000;
  int pages = 0;
  do {
    uint32_t found = 0, kind = 0;
    EXPECT_EQ(TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &found), 1);
    EXPECT_EQ(found, width);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind);
    EXPECT_EQ(kind, pages == 0 ? 0u : 1u);
    std::vector<uint8_t> tile(static_cast<size_t>(TIFFTileSize(tiff)));
    EXPECT_GT(TIFFReadTile(tiff, tile.data(), 0, 0, 0, 0), 0);
    width = (width + 1) / 2;
    ++pages;
  } while (TIFFReadDirectory(tiff) == 1);
  TIFFClose(tiff);
  EXPECT_EQ(pages, 3);
}

TEST(RegionWriter, MissingRowsAreZero) {
  Written file;
  TiffBandWriter writer(byte_sink(file), {.width = 4, .height = 600});
  const std::vector<uint8_t> rows(4 * 3 * 300, 77);
  writer.write_rows(rows.data(), 300);
  writer.finish();
  const Image image = decode_image(file.bytes, "x");
  EXPECT_EQ(image.row(299)[0], 77);
  EXPECT_EQ(image.row(300)[0], 0);
}

TEST(RegionWriter, RefusesWhatItCannotWrite) {
  const auto refused = [](const std::string& word, const TiffBandFormat& format) {
    Written file;
    expect_error(ErrorCode::kUsage, {word}, [&] { TiffBandWriter(byte_sink(file), format); });
    EXPECT_TRUE(file.bytes.empty());
  };
  refused("0x5 pixels", {.width = 0, .height = 5});
  refused("5x2147483648 pixels", {.width = 5, .height = int64_t{1} << 31});
  refused("2 channels", {.width = 5, .height = 5, .channels = 2});
  refused("with 257 colours", {.width = 5,
                               .height = 5,
                               .channels = 1,
                               .palette = std::vector<std::array<uint8_t, 3>>(257)});
  refused("with 1 colours", {.width = 5, .height = 5, .channels = 3, .palette = {{1, 2, 3}}});
  Written file;
  TiffBandWriter writer(byte_sink(file), {.width = 1, .height = 2});
  const std::vector<uint8_t> rows(9);
  expect_error(ErrorCode::kUsage, {"3 rows, expected 2"},
               [&] { writer.write_rows(rows.data(), 3); });
}

}  // namespace
}  // namespace vig::test
