// The memory of reading and writing by regions: it depends on regions and caches, not on the image.
#ifndef __SANITIZE_ADDRESS__  // has an allocator of its own

#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "image/hostile_images.h"
#include "vig/base/memory.h"
#include "vig/image/region_formats.h"
#include "vig/image/region_writer.h"

namespace vig::test {
namespace {

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

uint64_t peak_of(const std::function<void()>& work) {
  ::malloc_trim(0);
  reset_process_peak();
  const uint64_t before = process_peak();
  work();
  return process_peak() - before;
}

// Of 24 GB as pixels.
TEST(RegionMemory, OfALargeTiledTiff) {
  HostileTiff tiff = {.width = 100'000,
                      .height = 80'000,
                      .samples = 3,
                      .photometric = 2,
                      .tile_width = 256,
                      .tile_height = 256,
                      .data = std::string(256 * 256 * 3, 'x')};
  const Bytes bytes = hostile_tiff(tiff);
  const auto read = [&](int64_t columns) {
    const RegionLimits limits = {.cache_bytes = 8 * kMegabyte};
    const auto source = open_file_regions(memory_bytes(bytes), "x", limits);
    for (int64_t x = 0; x < columns; x += 1000) {
      ASSERT_EQ(source->read(0, {x, 79'000, 1000, 1000}).rgb, Bytes(1000 * 1000 * 3, 'x'));
    }
  };
  read(2000);  // so that code and its tables are in memory
  // The cache, two regions, a tile as samples and as pixels, and of the table what was asked for.
  EXPECT_LE(peak_of([&] { read(30'000); }), 20 * kMegabyte);
}

TEST(RegionMemory, OfALongPng) {
  const Bytes bytes = png_of_zeros(3000, 5000, 8, 2);  // 45 MB as pixels
  const auto read = [&] {
    const auto source = open_file_regions(memory_bytes(bytes), "x", {.cache_bytes = 2 * kMegabyte});
    EXPECT_EQ(source->read(0, {0, 4900, 3000, 100}).rgb, Bytes(3000 * 100 * 3));
  };
  EXPECT_LE(peak_of(read), 8 * kMegabyte);
}

TEST(RegionMemory, OfTheWriter) {
  uint64_t written = 0;
  struct Nowhere {
    uint64_t& bytes;
    void write(const void*, size_t size) { bytes += size; }
    void rewrite_begin(const void*, size_t) {}
  } nowhere{written};
  const auto write = [&](int64_t height) {
    return peak_of([&] {
      TiffBandWriter writer(byte_sink(nowhere), {.width = 20'000, .height = height, .channels = 1});
      const std::vector<uint8_t> row(20'000, 7);
      for (int64_t y = 0; y < height; ++y) writer.write_rows(row.data(), 1);
      writer.finish();
    });
  };
  write(600);
  const uint64_t low = write(600), high = write(6000);
  // 256 rows of each level: 20,000 pixels, 10,000, 5,000, ...
  EXPECT_GE(low, 5 * kMegabyte);
  EXPECT_LE(high, 256 * 40'000 + 3 * kMegabyte);
  EXPECT_GT(written, 0u);
}

}  // namespace
}  // namespace vig::test

#endif
