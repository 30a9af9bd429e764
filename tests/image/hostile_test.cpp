// Files that cost far more than they weigh: refused, or decoded within the budget.
#include <gtest/gtest.h>

#include <malloc.h>
#include <sys/resource.h>
#include <algorithm>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "image/fixtures.h"
#include "image/hostile_images.h"
#include "support/errors.h"
#include "vig/base/error.h"
#include "vig/base/memory.h"
#include "vig/image/decode.h"
#include "vig/image/formats.h"

namespace vig::test {
namespace {

// Far above what they take on a busy machine, and far below what they took before.
constexpr double kPlenty = 20;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Hostile, JpegOfManyMarkers) {
  const Bytes plain = read_bytes(data_path("photos/rocket_strip_640x12.jpg"));
  Bytes segments;
  for (int i = 0; i < 200'000; ++i) {
    const Bytes empty = jpeg_segment(0xE1, "");
    segments.insert(segments.end(), empty.begin(), empty.end());
  }
  const Bytes exif = jpeg_segment(0xE1, exif_data(6));
  segments.insert(segments.end(), exif.begin(), exif.end());
  const Bytes hostile = with_segments(plain, segments);
  Image image;
  EXPECT_LT(seconds_of([&] { image = decode_image(hostile, "x.jpg"); }), kPlenty);
  EXPECT_EQ(image.width, 12);  // turned by the last segment
  EXPECT_EQ(image.height, 640);
  EXPECT_EQ(decode_image(hostile, "x.jpg", kAsStored), decode_image(plain, "x.jpg", kAsStored));
}

TEST(Hostile, ExifIsFoundWhereLibjpegWouldFindIt) {
  const Bytes plain = read_bytes(data_path("photos/rocket_strip_640x12.jpg"));
  const auto height_with = [&](Bytes segments) {
    return decode_image(with_segments(plain, segments), "x.jpg").height;
  };
  const auto join = [](std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const Bytes exif = jpeg_segment(0xE1, exif_data(6));
  EXPECT_EQ(height_with({}), 12);
  EXPECT_EQ(height_with(exif), 640);
  EXPECT_EQ(height_with(join({{0xFF, 0xFF}, exif})), 640);  // padding
  EXPECT_EQ(height_with(join({jpeg_segment(0xFE, ""), {'a', 0xFF, 0}, exif})),
            640);  // bytes between segments
  EXPECT_EQ(height_with(join({jpeg_segment(0xE1, "http://ns.adobe.com/xap/"), exif})), 640);
  EXPECT_EQ(height_with(join({jpeg_segment(0xE2, exif_data(6)), jpeg_segment(0xFE, "\xff\xe1")})),
            12);
  EXPECT_EQ(height_with(join({exif, jpeg_segment(0xE1, exif_data(1))})), 640);  // the first counts
  // Behind the image there is none.
  Bytes behind = plain;
  behind.insert(behind.end(), exif.begin(), exif.end());
  EXPECT_EQ(decode_image(behind, "x.jpg").height, 12);
}

// Broken.RepeatedScansAreRefused has the other side of it.
TEST(Hostile, ManyScansOfASmallImageAreFine) {
  const Bytes bytes = hostile_jpeg(
      {.width = 1024, .height = 1024, .channels = 4, .progressive = true, .refinements = 10});
  EXPECT_EQ(decode_image(bytes, "x.jpg").width, 1024);
}

TEST(Hostile, ArithmeticCodingOfLargeImagesIsRefused) {
  EXPECT_EQ(
      decode_image(hostile_jpeg({.width = 512, .height = 512, .arithmetic = true}), "x").width,
      512);
  Bytes large = hostile_jpeg({.width = 4096, .height = 4096, .arithmetic = true});
  expect_error(ErrorCode::kInput, {"x.jpg", "with arithmetic coding"},
               [&] { decode_image(large, "x.jpg"); });
  // A sequential scan that states a band of one coefficient still reads all of them.
  const Bytes scan = {0xFF, 0xDA};
  const auto found = std::search(large.begin(), large.end(), scan.begin(), scan.end());
  ASSERT_NE(found, large.end());
  const int components = found[4];
  uint8_t& band_end = found[4 + 1 + components * 2 + 1];
  ASSERT_EQ(band_end, 63);
  band_end = 0;
  expect_error(ErrorCode::kInput, {"x.jpg", "with arithmetic coding"},
               [&] { decode_image(large, "x.jpg"); });
}

TEST(Hostile, TiffTilesLargerThanTheImage) {
  HostileTiff tiff = {.width = 1 << 20, .height = 64, .tile_width = 16, .tile_height = 1 << 20};
  tiff.data.assign(1000, '\0');
  for (const uint16_t photometric : {1, 5}) {
    tiff.photometric = photometric;
    tiff.samples = photometric == 5 ? 4 : 1;
    const Bytes bytes = hostile_tiff(tiff);
    EXPECT_LT(seconds_of([&] {
                expect_error(
                    ErrorCode::kInput,
                    {"x.tif", "65536 strips or tiles",
                     photometric == 5 ? "(raise it with --max-pixels)" : "(a fixed limit)"},
                    [&] { decode_image(bytes, "x.tif"); });
              }),
              kPlenty);
  }
}

TEST(Hostile, TiffTilesMayReachBeyondTheEdges) {
  HostileTiff tiff = {.width = 257, .height = 257, .tile_width = 256, .tile_height = 256};
  tiff.data.assign(256 * 256, '\7');
  const Image image = decode_image(hostile_tiff(tiff), "x.tif");
  EXPECT_EQ(image.rgb.front(), 7);
  EXPECT_EQ(image.rgb.back(), 7);
}

TEST(Hostile, TiffOfManyOrOverlappingPieces) {
  HostileTiff many = {.width = 100'000, .height = 400, .tile_width = 16, .tile_height = 16};
  many.data.assign(256, '\0');
  expect_error(ErrorCode::kInput,
               {"x.tif", "156250 strips or tiles", "at most 104598", "(a fixed limit)"},
               [&] { decode_image(hostile_tiff(many), "x.tif"); });
  HostileTiff overlapping = {.width = 64, .height = 10'000, .rows = 1};
  overlapping.data.assign(1'000'000, '\0');
  expect_error(ErrorCode::kInput, {"x.tif", "overlap"},
               [&] { decode_image(hostile_tiff(overlapping), "x.tif"); });
}

// Data of these kinds have sizes of their own, and rows of many samples any size.
TEST(Hostile, TiffKindsThatNothingBounds) {
  const auto refused = [](const HostileTiff& tiff, const std::string& words) {
    expect_error(ErrorCode::kInput, {"x.tif: ", words},
                 [&] { decode_image(hostile_tiff(tiff), "x.tif"); });
  };
  const std::string data(256, '\7');
  refused({.compression = 34661, .data = data}, "a TIFF with JBIG compression");
  refused({.compression = 34887, .data = data}, "a TIFF with LERC compression");
  refused({.samples = 17, .data = std::string(256 * 17, '\7')},
          "a TIFF of 17 samples per pixel, expected 1 to 16");
  const HostileTiff most = {.samples = 16, .data = std::string(256 * 16, '\7')};
  EXPECT_EQ(decode_image(hostile_tiff(most), "x.tif").rgb.front(), 7);
}

TEST(Hostile, TiffTagsThatShareTheirBytes) {
  HostileTiff tiff = {.more_tags = 2000, .tag_bytes = 1'000'000};
  tiff.data.assign(1'000'000, '\0');
  tiff.data_size = 256;
  expect_error(ErrorCode::kInput, {"x.tif", "tags of 2000", "in a file of 10"},
               [&] { decode_image(hostile_tiff(tiff), "x.tif"); });
  tiff.more_tags = 1;
  EXPECT_EQ(decode_image(hostile_tiff(tiff), "x.tif").width, 16);
}

TEST(Hostile, ProgressiveJpegInTiffIsRefused) {
  const auto inside = [](bool progressive) {
    const Bytes jpeg =
        hostile_jpeg({.width = 64, .height = 64, .channels = 4, .progressive = progressive});
    return hostile_tiff({.width = 64,
                         .height = 64,
                         .samples = 4,
                         .photometric = 5,
                         .compression = 7,
                         .data = {jpeg.begin(), jpeg.end()}});
  };
  EXPECT_EQ(decode_image(inside(false), "x.tif").width, 64);
  expect_error(ErrorCode::kInput, {"x.tif", "JPEG data of kind c2"},
               [&] { decode_image(inside(true), "x.tif"); });
}

TEST(Hostile, KnownSizesAreRefusedBeforeReading) {
  const TempDir dir;
  const std::string path = dir / "x.jpg";
  write_file(path, "\xFF\xD8\xFF");
  std::filesystem::resize_file(path, uint64_t{100} << 30);  // sparse
  expect_error(ErrorCode::kInput, {path, "107374182400 bytes", "longer than the 603979776 bytes"},
               [&] { read_image(path); });
}

TEST(Hostile, MoreMemoryThanTheWholeBudgetIsRefused) {
  // One strip of CMYK and four channels more: 3 bytes per pixel for the result, 4 and 8 in libtiff.
  HostileTiff tiff = {.width = 8192, .height = 8192, .samples = 8, .photometric = 5};
  tiff.compression = 8;
  tiff.data = "x";
  expect_error(ErrorCode::kInput,
               {"x.tif: decoding takes 10", "over the limit of 872415232", "--max-pixels"},
               [&] { decode_image(hostile_tiff(tiff), "x.tif"); });
}

#ifndef __SANITIZE_ADDRESS__  // has an allocator and an address space of its own

struct Sample {
  const char* name;
  Bytes bytes;
};

std::vector<Sample> samples(int side) {
  const auto length = static_cast<uint32_t>(side);
  const std::string plane(static_cast<size_t>(side * side) * 4, 'x');
  return {
      {"baseline.jpg", hostile_jpeg({.width = side, .height = side})},
      {"progressive.jpg",
       hostile_jpeg({.width = side, .height = side, .channels = 4, .progressive = true})},
      {"wide.jpg", hostile_jpeg({.width = 65000, .height = 16, .progressive = true})},
      {"turned.jpg", with_segments(hostile_jpeg({.width = side, .height = side}),
                                   jpeg_segment(0xE1, exif_data(6)))},
      {"deep.png", png_of_zeros(length, length, 16, 6)},
      {"wide.png", png_of_zeros(1 << 20, 2, 16, 6)},
      {"lossy.webp", webp_image(side, side, false)},
      {"lossless.webp", webp_image(side, side, true)},
      {"cmyk.tif",
       hostile_tiff(
           {.width = length, .height = length, .samples = 4, .photometric = 5, .data = plane})},
      {"tile.tif", hostile_tiff({.width = length,
                                 .height = length,
                                 .samples = 4,
                                 .photometric = 2,
                                 .tile_width = length,
                                 .tile_height = length,
                                 .data = plane})},
  };
}

// The allocator keeps what is freed below this size, which hides what is taken. Set before the
// first test, since it keeps using the memory that it has by then.
const int kReturnsFreedMemory = ::mallopt(M_MMAP_THRESHOLD, 1 << 16);

// What a decoder says that it needs covers what it takes.
TEST(Hostile, EstimatesCoverThePeak) {
  constexpr uint64_t kSlack = uint64_t{3} << 20;  // of the allocator
  ASSERT_EQ(kReturnsFreedMemory, 1);
  for (const Sample& sample : samples(1536)) {
    decode_image(sample.bytes, sample.name);  // so that code and its tables are in memory
    const std::string name = sample.name;
    const DecodeOptions options;
    OpenImage* const open = name.ends_with("jpg")   ? open_jpeg
                            : name.ends_with("png") ? open_png
                            : name.ends_with("tif") ? open_tiff
                                                    : open_webp;
    const ImageHeader header = open(sample.bytes, name, options)->header();
    const uint64_t rgb = uint64_t{3} * static_cast<uint64_t>(header.width * header.height);
    const uint64_t need = rgb + std::max(header.working_bytes, header.orientation > 1 ? rgb : 0);
    ::malloc_trim(0);
    reset_process_peak();
    const uint64_t before = process_peak();
    const Image image = decode_image(sample.bytes, name, options);
    const uint64_t taken = process_peak() - before;
    EXPECT_LE(taken, need + kSlack) << name;
    EXPECT_GE(taken + kSlack, rgb) << name;  // the measurement works
  }
}

void decode_with_little_memory() {
  ASSERT_EQ(kReturnsFreedMemory, 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  for (const Sample& sample : samples(1024)) {
    int refused = 0;
    for (int megabytes = 1; megabytes <= 31; megabytes += 3) {
      std::string message;
      ::malloc_trim(0);
      {
        std::ifstream statm("/proc/self/statm");
        uint64_t pages = 0;
        statm >> pages;
        const rlimit little = {pages * 4096 + (static_cast<uint64_t>(megabytes) << 20),
                               before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
      }
      try {
        decode_image(sample.bytes, sample.name);
      } catch (const Error& error) {
        message = error.what();
      }
      setrlimit(RLIMIT_AS, &before);
      if (message.empty()) continue;
      EXPECT_EQ(message, std::string(sample.name) + ": not enough memory for the image");
      ++refused;
    }
    EXPECT_GT(refused, 0) << sample.name;
  }
}

// However little memory there is, a good image is never called damaged. In a process of its own,
// since memory that other tests have left in the allocator would be there in spite of the limit.
TEST(Hostile, LackOfMemoryIsCalledThat) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        decode_with_little_memory();
        std::exit(HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace vig::test
