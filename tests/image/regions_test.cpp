// Regions of files against crops of the same files decoded whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "image/tiff_files.h"
#include "support/errors.h"
#include "vig/image/decode.h"
#include "vig/image/encode.h"
#include "vig/image/encode_png.h"
#include "vig/image/region_formats.h"
#include "vig/image/region_source.h"

namespace vig::test {
namespace {

namespace fs = std::filesystem;

Image crop(const Image& image, const ImageRegion& region) {
  Image part(static_cast<int>(region.width), static_cast<int>(region.height));
  for (int y = 0; y < part.height; ++y) {
    std::copy_n(image.row(static_cast<int>(region.y) + y) + region.x * 3, part.row_bytes(),
                part.row(y));
  }
  return part;
}

// The whole image, its corners and edges, and others in any order.
std::vector<ImageRegion> some_regions(int64_t width, int64_t height) {
  std::vector<ImageRegion> regions = {
      {0, 0, width, height},         {0, 0, 1, 1},
      {width - 1, height - 1, 1, 1}, {0, height - 1, width, 1},
      {width - 1, 0, 1, height},     {width / 2, 0, width - width / 2, height}};
  std::mt19937 random(7);
  const auto draw = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(random);
  };
  for (int i = 0; i < 10; ++i) {
    const int64_t x = draw(width - 1), y = draw(height - 1);
    regions.push_back({x, y, 1 + draw(width - x - 1), 1 + draw(height - y - 1)});
  }
  return regions;
}

void expect_crops(RegionSource& source, const Image& whole) {
  ASSERT_EQ(source.levels()[0], (RegionLevel{whole.width, whole.height, 1}));
  for (const ImageRegion& region : some_regions(whole.width, whole.height)) {
    ASSERT_EQ(source.read(0, region), crop(whole, region))
        << region.x << "," << region.y << "," << region.width << "," << region.height;
  }
}

// As it is read from a file, with caches from nothing to everything.
void expect_same_pixels(const std::vector<uint8_t>& bytes, const DecodeOptions& decode = {}) {
  const Image whole = decode_image(bytes, "x", decode);
  for (const uint64_t cache : {uint64_t{0}, uint64_t{1000}, uint64_t{64} << 20}) {
    const RegionLimits limits = {.decode = decode, .cache_bytes = cache};
    const auto source = open_file_regions(memory_bytes(bytes), "x", limits);
    ASSERT_NE(source, nullptr);
    expect_crops(*source, whole);
  }
}

const Image kPattern = pattern(83, 61);
int pattern_colour(int x, int y, int c) { return kPattern.row(y)[x * 3 + c]; }

TiffFormat pattern_format(TiffFormat format = {}) {
  format.width = kPattern.width;
  format.height = kPattern.height;
  return format;
}

TEST(Regions, OfADecodedImage) {
  expect_crops(*regions_of(kPattern), kPattern);
  const auto source = regions_of(kPattern, {.max_region_pixels = 100});
  EXPECT_EQ(source->read(0, {3, 4, 10, 10}), crop(kPattern, {3, 4, 10, 10}));
  expect_error(ErrorCode::kUsage, {"a region of 11x10 pixels", "at most 100"}, [&] {
    source->read(0, {0, 0, 11, 10});
  });
  for (const ImageRegion& outside :
       {ImageRegion{0, 0, 84, 1}, ImageRegion{0, 0, 1, 62}, ImageRegion{-1, 0, 2, 2},
        ImageRegion{0, 0, 0, 1}, ImageRegion{83, 0, 1, 1}, ImageRegion{0, INT64_MAX, 1, 1},
        ImageRegion{1, 1, INT64_MAX, INT64_MAX}}) {
    expect_error(ErrorCode::kUsage, {"image: region ", "inside the 83x61 pixels of level 0"},
                 [&] { source->read(0, outside); });
  }
  expect_error(ErrorCode::kUsage, {"level 1, expected 0 to 0"}, [&] {
    source->read(1, {0, 0, 1, 1});
  });
}

// Whatever decode.h reads, and no crash on what it refuses.
TEST(Regions, OfEveryFixture) {
  int same = 0;
  for (const char* folder : {"broken", "formats", "photos", "pngsuite"}) {
    for (const auto& file : fs::directory_iterator(data_path(folder))) {
      if (file.path().extension() == ".tsv" || file.path().extension() == ".md") continue;
      SCOPED_TRACE(file.path().string());
      Image whole;
      const bool good = survives([&] { whole = read_image(file.path().string()); });
      const auto read = [&] {
        const auto source = open_regions(file.path());
        if (!good) {
          const RegionLevel& size = source->levels()[0];
          source->read(
              0, {0, 0, std::min<int64_t>(size.width, 64), std::min<int64_t>(size.height, 64)});
          return;
        }
        expect_crops(*source, whole);
        ++same;
      };
      EXPECT_TRUE(survives(read) || !good);
    }
  }
  EXPECT_GT(same, 120);
}

TEST(Regions, OfTiffInTilesAndStrips) {
  for (const bool tiled : {false, true}) {
    for (const uint16_t planar : {PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
      for (const uint16_t compression :
           {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
        for (const uint16_t bits : {8, 16}) {
          for (const char* mode : {"wl", "wb", "w8"}) {
            TiffFormat format = pattern_format({.bits = bits,
                                                .planar = planar,
                                                .compression = compression,
                                                .tiled = tiled,
                                                .mode = mode});
            format.tile = 32;
            SCOPED_TRACE(testing::Message() << tiled << " " << planar << " " << compression << " "
                                            << bits << " " << mode);
            expect_same_pixels(write_tiff(format, [&](int x, int y, int c) {
              return bits == 8 ? pattern_colour(x, y, c) : pattern_colour(x, y, c) << 8 | x;
            }));
          }
        }
      }
    }
  }
}

TEST(Regions, OfTiffInGrayAndPalette) {
  for (const bool tiled : {false, true}) {
    for (const uint16_t photometric :
         {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_PALETTE}) {
      for (const uint16_t bits : {1, 2, 4, 8}) {
        for (const uint16_t order : {FILLORDER_MSB2LSB, FILLORDER_LSB2MSB}) {
          SCOPED_TRACE(testing::Message() << tiled << " " << photometric << " " << bits);
          const TiffFormat format = pattern_format(
              {.photometric = photometric, .samples = 1, .bits = bits, .tiled = tiled});
          std::vector<uint16_t> map;
          for (int i = 0; i < 256; ++i) map.push_back(static_cast<uint16_t>(i * 251 + 300));
          const auto set_tags = [&](TIFF* tiff) {
            TIFFSetField(tiff, TIFFTAG_FILLORDER, order);
            if (photometric != PHOTOMETRIC_PALETTE) return;
            TIFFSetField(tiff, TIFFTAG_COLORMAP, map.data(), map.data(), map.data());
          };
          expect_same_pixels(write_tiff(
              format, [&](int x, int y, int) { return (x * 7 + y * 13) & ((1 << bits) - 1); },
              set_tags));
        }
      }
    }
  }
}

TEST(Regions, OfTiffWithAlphaAndOrientations) {
  for (const bool tiled : {false, true}) {
    const TiffFormat alpha = pattern_format({.samples = 4, .tiled = tiled, .alpha = true});
    expect_same_pixels(write_tiff(
        alpha, [](int x, int y, int c) { return c == 3 ? x % 5 : pattern_colour(x, y, c); }));
    for (uint16_t orientation = 1; orientation <= 8; ++orientation) {
      SCOPED_TRACE(orientation);
      const auto bytes =
          write_tiff(pattern_format({.orientation = orientation, .tiled = tiled}), pattern_colour);
      expect_same_pixels(bytes);
      expect_same_pixels(bytes, kAsStored);
    }
  }
}

// What libtiff converts itself, and JPEG inside.
TEST(Regions, OfTiffInOtherColours) {
  constexpr int kTile = 32;  // libtiff refuses uncompressed ones that are no multiple of 1024 bytes
  for (const bool tiled : {false, true}) {
    SCOPED_TRACE(tiled);
    const auto smooth = [](int x, int y, int c) { return c == 0 ? x * 3 : c == 1 ? y * 4 : 100; };
    expect_same_pixels(write_tiff(
        pattern_format(
            {.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_JPEG, .tiled = tiled}),
        smooth, [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB); }));
    for (const uint16_t orientation : {1, 3, 6}) {
      expect_same_pixels(write_tiff(pattern_format({.photometric = PHOTOMETRIC_SEPARATED,
                                                    .samples = 4,
                                                    .orientation = orientation,
                                                    .tiled = tiled,
                                                    .tile = kTile}),
                                    [](int x, int y, int c) { return (x * 3 + y * c) & 255; }));
    }
    expect_same_pixels(write_tiff(
        pattern_format({.photometric = PHOTOMETRIC_CIELAB, .tiled = tiled, .tile = kTile}),
        smooth));
    expect_same_pixels(write_tiff(
        pattern_format(
            {.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_LZW, .tiled = tiled}),
        smooth, [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 1, 1); }));
  }
}

// Strips too long to keep are decoded by rows, restarting where a region lies above.
TEST(Regions, OfTiffInOneLongStrip) {
  TiffFormat format = {
      .compression = COMPRESSION_LZW, .width = 3000, .height = 2001, .strip = 1600};
  const auto bytes = write_tiff(format, [](int x, int y, int c) { return (x * y + c) & 255; });
  const Image whole = decode_image(bytes, "x");
  const auto source = open_file_regions(memory_bytes(bytes), "x", {.cache_bytes = 3000 * 3 * 40});
  EXPECT_TRUE(source->sequential());
  for (const ImageRegion& region :
       {ImageRegion{5, 100, 700, 30}, ImageRegion{2000, 95, 1000, 50}, ImageRegion{0, 130, 9, 90},
        ImageRegion{0, 0, 3000, 1}, ImageRegion{1, 1590, 2999, 20}, ImageRegion{0, 1999, 3000, 2},
        ImageRegion{0, 1000, 3000, 1001}}) {
    ASSERT_EQ(source->read(0, region), crop(whole, region)) << region.y;
  }
  format.strip = 100;
  const auto strips = write_tiff(format, [](int x, int y, int c) { return (x * y + c) & 255; });
  EXPECT_FALSE(open_file_regions(memory_bytes(strips), "x", {})->sequential());
}

TEST(Regions, OfJpegAndPngByRows) {
  const Image image = pattern(157, 211);
  for (const auto& bytes : {encode_png(image), encode_jpeg(image)}) {
    expect_same_pixels(bytes);
    const auto source = open_file_regions(memory_bytes(bytes), "x", {.cache_bytes = 157 * 3 * 20});
    ASSERT_NE(source, nullptr);
    EXPECT_TRUE(source->sequential());
  }
}

// The file is read as far as it must be, and damage is met when its rows are asked for.
TEST(Regions, OfCutFiles) {
  const Image image = pattern(157, 211);
  for (const auto& whole : {encode_png(image), encode_jpeg(image)}) {
    const std::vector<uint8_t> cut(whole.begin(),
                                   whole.begin() + static_cast<long>(whole.size() / 2));
    const auto source = open_file_regions(memory_bytes(cut), "x", {});
    const Image decoded = decode_image(whole, "x");
    for (int i = 0; i < 2; ++i) {  // an error is no end
      EXPECT_EQ(source->read(0, {0, 0, 157, 20}), crop(decoded, {0, 0, 157, 20}));
      EXPECT_NE(error_of([&] {
                  source->read(0, {0, 0, 157, 211});
                }).find("x: damaged"),
                std::string::npos);
    }
  }
}

TEST(Regions, OfPyramids) {
  // Both kinds: pages of the main list, and pages below the first one.
  for (const bool below : {false, true}) {
    SCOPED_TRACE(below);
    const TempDir dir;
    const std::string path = dir / "x.tif";
    TIFF* tiff = TIFFOpen(path.c_str(), "w8");
    const auto level = [](int number) {
      return [number](int x, int y, int c) { return (x * 3 + y * 5 + c * 7 + number * 100) & 255; };
    };
    uint64_t offsets[2] = {};
    const int sides[] = {200, 100, 50};
    for (int i = 0; i < 3; ++i) {
      TiffFormat format = {.compression = COMPRESSION_LZW, .tiled = true};
      format.width = sides[i];
      format.height = sides[i] / 2 + (i == 0 ? 1 : 0);
      write_tiff_page(tiff, format, level(i), [&](TIFF* page) {
        if (i > 0) TIFFSetField(page, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
        if (i == 0 && below) TIFFSetField(page, TIFFTAG_SUBIFD, 2, offsets);
        TIFFSetField(page, TIFFTAG_XRESOLUTION, 20000.0);
        TIFFSetField(page, TIFFTAG_RESOLUTIONUNIT, RESUNIT_CENTIMETER);
      });
      TIFFWriteDirectory(tiff);
    }
    // A mask, a page of another shape and a page of a document are no levels.
    const auto other = [&](int width, int height, uint32_t kind) {
      write_tiff_page(tiff, {.tiled = true, .width = width, .height = height}, level(9),
                      [&](TIFF* page) { TIFFSetField(page, TIFFTAG_SUBFILETYPE, kind); });
      TIFFWriteDirectory(tiff);
    };
    other(20, 10, FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
    other(20, 20, FILETYPE_REDUCEDIMAGE);
    other(40, 20, FILETYPE_PAGE);
    TIFFClose(tiff);
    const auto source = open_regions(path);
    ASSERT_EQ(source->levels(),
              (std::vector<RegionLevel>{{200, 101, 1}, {100, 50, 2}, {50, 25, 4}}));
    EXPECT_NEAR(source->microns_per_pixel().value_or(0), 0.5, 1e-6);
    for (const int number : {2, 0, 1}) {
      const RegionLevel size = source->levels()[static_cast<size_t>(number)];
      for (const ImageRegion& region : some_regions(size.width, size.height)) {
        const Image part = source->read(number, region);
        for (int y = 0; y < part.height; ++y) {
          for (int x = 0; x < part.width; ++x) {
            const auto expected =
                level(number)(static_cast<int>(region.x) + x, static_cast<int>(region.y) + y, 1);
            ASSERT_EQ(part.row(y)[x * 3 + 1], expected);
          }
        }
      }
    }
  }
}

// Tiles that were never written: what programs for maps leave out has the sample value 0.
TEST(Regions, OfALargeSparseTiff) {
  const TempDir dir;
  const std::string path = dir / "x.tif";
  TIFF* tiff = TIFFOpen(path.c_str(), "w8");
  for (const auto& [tag, value] :
       {std::pair(TIFFTAG_IMAGEWIDTH, 100'000), std::pair(TIFFTAG_IMAGELENGTH, 80'000),
        std::pair(TIFFTAG_TILEWIDTH, 256), std::pair(TIFFTAG_TILELENGTH, 256),
        std::pair(TIFFTAG_BITSPERSAMPLE, 8), std::pair(TIFFTAG_SAMPLESPERPIXEL, 3),
        std::pair(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG),
        std::pair(TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE),
        std::pair(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB)}) {
    TIFFSetField(tiff, static_cast<uint32_t>(tag), value);
  }
  std::vector<uint8_t> tile(256 * 256 * 3, 200);
  ASSERT_GT(TIFFWriteTile(tiff, tile.data(), 51'200, 40'960, 0, 0), 0);
  TIFFClose(tiff);

  const auto start = std::chrono::steady_clock::now();
  const auto source = open_regions(path);
  EXPECT_EQ(source->levels()[0], (RegionLevel{100'000, 80'000, 1}));
  const Image part = source->read(0, {51'100, 40'950, 300, 200});
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), 1);  // 3 ms on an idle machine
  EXPECT_EQ(part.row(9)[100 * 3], 0);
  EXPECT_EQ(part.row(10)[99 * 3], 0);
  EXPECT_EQ(part.row(10)[100 * 3], 200);
  EXPECT_EQ(part.row(199)[299 * 3 + 2], 200);
  EXPECT_EQ(source->read(0, {99'999, 79'999, 1, 1}).rgb, std::vector<uint8_t>(3, 0));
}

TEST(Regions, OfSlidesByOpenSlide) {
  const TempDir dir;
  const std::string path = dir / "x.svs";
  const TiffFormat format = pattern_format({.compression = COMPRESSION_LZW, .tiled = true});
  const auto bytes = write_tiff(format, pattern_colour);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  try {
    expect_crops(*open_regions(path), kPattern);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("libopenslide0"), std::string::npos) << error.what();
    GTEST_SKIP() << "there is no OpenSlide";
  }
  // A vendor's file, which says what its pixels measure.
  const auto aperio = write_tiff(format, pattern_colour, [](TIFF* tiff) {
    TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION,
                 "Aperio Image Library v11.2.1 \r\n83x61 (16x16) LZW|AppMag = 20|MPP = 0.4990");
  });
  write_file(path, {reinterpret_cast<const char*>(aperio.data()), aperio.size()});
  const auto slide = open_regions(path);
  expect_crops(*slide, kPattern);
  EXPECT_EQ(slide->microns_per_pixel(), 0.499);
  // What OpenSlide does not know is read by its content.
  const auto png = encode_png(kPattern);
  write_file(path, {reinterpret_cast<const char*>(png.data()), png.size()});
  expect_crops(*open_regions(path), kPattern);
}

}  // namespace
}  // namespace vig::test
