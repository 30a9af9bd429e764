// Files whose tables, levels and offsets lie: one error, in little time and memory.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "image/hostile_images.h"
#include "image/tiff_files.h"
#include "support/errors.h"
#include "vig/image/region_formats.h"
#include "vig/image/region_writer.h"

namespace vig::test {
namespace {

std::unique_ptr<RegionSource> open_bytes(const Bytes& bytes, const RegionLimits& limits = {}) {
  return open_file_regions(memory_bytes(bytes), "x", limits);
}

void expect_refused(std::initializer_list<std::string> words, const Bytes& bytes,
                    const ImageRegion& region = {0, 0, 1, 1}) {
  const auto start = std::chrono::steady_clock::now();
  expect_error(ErrorCode::kInput, words, [&] { open_bytes(bytes)->read(0, region); });
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time.count(), 5);
}

// The same bytes, of which some claim to be longer than they are.
std::string deflated(size_t zeros) {
  const std::string raw(zeros, '\0');
  std::string packed(compressBound(zeros), '\0');
  uLongf size = packed.size();
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                     reinterpret_cast<const Bytef*>(raw.data()), raw.size()),
            Z_OK);
  return packed.substr(0, size);
}

TEST(HostileRegions, SizesAreChecked) {
  HostileTiff tiff = {.width = 1u << 31, .height = 16, .data = std::string(16, 'x')};
  expect_refused({"x: an image of 2147483648x16 pixels", "a fixed limit"}, hostile_tiff(tiff));
  tiff = {.width = 16, .height = 0, .rows = 1, .data = std::string(16, 'x')};
  expect_refused({"16x0 pixels"}, hostile_tiff(tiff));
}

TEST(HostileRegions, TablesAreAsLongAsTheImageNeeds) {
  HostileTiff tiff = {.width = 64, .height = 64, .tile_width = 16, .tile_height = 16};
  tiff.data.assign(256, 'x');
  Bytes bytes = hostile_tiff(tiff);
  EXPECT_EQ(open_bytes(bytes)->read(0, {0, 0, 64, 64}).rgb, Bytes(64 * 64 * 3, 'x'));
  // The image grows, its table does not: tag 257, the height.
  const Bytes height = {1, 1, 4, 0, 1, 0, 0, 0, 64, 0, 0, 0};
  const auto found = std::search(bytes.begin(), bytes.end(), height.begin(), height.end());
  ASSERT_NE(found, bytes.end());
  found[9] = 0xFF;
  expect_refused({"a table of 16 strips or tiles", "expected 16336"}, bytes);
}

TEST(HostileRegions, PiecesLieInTheFile) {
  for (const uint16_t compression : {1, 8}) {
    HostileTiff tiff = {.width = 64,
                        .height = 64,
                        .compression = compression,
                        .tile_width = 16,
                        .tile_height = 16,
                        .data = std::string(256, 'x'),
                        .data_size = 100'000'000};
    expect_refused({"strip or tile 0 takes 100000000 bytes at 8, in a file of"},
                   hostile_tiff(tiff));
    tiff.tile_width = tiff.tile_height = 0;
    if (compression == 1) continue;
    expect_refused({"strip or tile 0 takes 100000000 bytes"}, hostile_tiff(tiff));
  }
  // Uncompressed strips of which the first rows are there.
  const HostileTiff strips = {.width = 64, .height = 64, .data = std::string(256, 'x')};
  const Bytes bytes = hostile_tiff(strips);
  EXPECT_EQ(open_bytes(bytes)->read(0, {0, 0, 64, 4}).rgb, Bytes(64 * 4 * 3, 'x'));
  expect_refused({"row 63 lies at 4040"}, bytes, {0, 63, 64, 1});
}

TEST(HostileRegions, TilesAreBounded) {
  HostileTiff tiff = {.width = 16,
                      .height = 16,
                      .compression = 8,
                      .tile_width = 1 << 16,
                      .tile_height = 1 << 16,
                      .data = deflated(1000)};
  expect_refused({"strips or tiles of 65536x65536 pixels"}, hostile_tiff(tiff));
  // Many of them at a time: all are the same bytes.
  tiff.width = tiff.height = 1 << 20;
  tiff.tile_width = tiff.tile_height = 1 << 12;
  tiff.data = deflated(1 << 24);
  const Bytes bytes = hostile_tiff(tiff);
  expect_refused({"a region of 1048576x1 pixels in tiles of 4096x4096"}, bytes, {0, 0, 1 << 20, 1});
  EXPECT_EQ(open_bytes(bytes)->read(0, {(1 << 20) - 9, 5, 9, 9}).rgb, Bytes(9 * 9 * 3));
}

TEST(HostileRegions, TagsAreBounded) {
  HostileTiff tiff = {.data = std::string(2000, 'x'), .more_tags = 1000, .tag_bytes = 2000};
  expect_refused({"damaged TIFF: tags of"}, hostile_tiff(tiff));
}

// Pages that lead to each other, or to nowhere.
TEST(HostileRegions, PagesEnd) {
  for (const uint32_t next : {8u, 0xFFFFFFF0u, 3u}) {
    HostileTiff tiff = {.data = std::string(256, 'x')};
    Bytes bytes = hostile_tiff(tiff);
    uint32_t directory = 0;
    for (size_t i = 0; i < 4; ++i) directory |= static_cast<uint32_t>(bytes[4 + i]) << 8 * i;
    const uint32_t tags = bytes[directory] | bytes[directory + 1] << 8;
    const size_t at = directory + 2 + tags * 12;
    ASSERT_LE(at + 4, bytes.size());
    const uint32_t value = next == 8 ? directory : next;
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(value >> 8 * i);
    EXPECT_EQ(open_bytes(bytes)->levels().size(), 1u);
  }
}

// A level may be damaged while others are whole.
TEST(HostileRegions, DamagedLevelsLeaveTheOthersAlone) {
  struct Sink {
    Bytes bytes;
    void write(const void* data, size_t size) {
      const auto* from = static_cast<const uint8_t*>(data);
      bytes.insert(bytes.end(), from, from + size);
    }
    void rewrite_begin(const void* data, size_t size) {
      std::copy_n(static_cast<const uint8_t*>(data), size, bytes.begin());
    }
  } file;
  TiffBandWriter writer(byte_sink(file), {.width = 600, .height = 500, .channels = 1});
  const std::vector<uint8_t> rows(600 * 500, 9);
  writer.write_rows(rows.data(), 500);
  writer.finish();
  // The table of the second level's tiles, tag 324: moved out of the file.
  const Bytes table = {0x44, 1, 16, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  const auto found = std::search(file.bytes.begin(), file.bytes.end(), table.begin(), table.end());
  ASSERT_NE(found, file.bytes.end());
  found[16] = 0xFF;
  const auto source = open_bytes(file.bytes);
  ASSERT_EQ(source->levels().size(), 3u);
  EXPECT_EQ(source->read(0, {599, 499, 1, 1}).rgb, Bytes(3, 9));
  expect_error(ErrorCode::kInput, {"x: damaged TIFF: a table of 0 strips or tiles", "expected 2"},
               [&] {
                 source->read(1, {0, 0, 1, 1});
               });
  EXPECT_EQ(source->read(2, {0, 0, 1, 1}).rgb, Bytes(3, 9));
}

TEST(HostileRegions, AllCutsAndFlips) {
  testing::internal::CaptureStderr();
  const auto sample = [](int x, int y, int c) { return (x * 3 + y * 5 + c) & 255; };
  for (const TiffFormat& format :
       {TiffFormat{.compression = COMPRESSION_LZW, .tiled = true},
        TiffFormat{.planar = PLANARCONFIG_SEPARATE, .mode = "w8"},
        TiffFormat{.bits = 16, .compression = COMPRESSION_ADOBE_DEFLATE},
        TiffFormat{.photometric = PHOTOMETRIC_SEPARATED, .samples = 4, .tiled = true}}) {
    const Bytes whole = write_tiff(format, sample);
    const RegionLimits limits = {.max_region_pixels = 1 << 16, .cache_bytes = 1 << 16};
    const auto read = [&](const Bytes& bytes) {
      return survives([&] {
        const auto source = open_bytes(bytes, limits);
        for (int i = 0; i < static_cast<int>(source->levels().size()); ++i) {
          const RegionLevel& level = source->levels()[static_cast<size_t>(i)];
          const int64_t width = std::min<int64_t>(level.width, 50);
          const int64_t height = std::min<int64_t>(level.height, 50);
          source->read(i, {level.width - width, level.height - height, width, height});
        }
      });
    };
    EXPECT_TRUE(read(whole));
    for (size_t size = 4; size < whole.size() - 4; size += whole.size() / 97 + 1) {
      EXPECT_FALSE(read({whole.begin(), whole.begin() + static_cast<long>(size)})) << size;
    }
    for (size_t i = 4; i < whole.size(); ++i) {
      for (const uint8_t value : {0x00, 0x01, 0x7F, 0xFF}) {
        Bytes bad = whole;
        bad[i] = value;
        read(bad);
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace vig::test
