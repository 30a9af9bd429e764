// HEIC and AVIF: pixels, transformations, and files made to cost more than they should.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "image/heif_bytes.h"
#include "vig/base/error.h"
#include "vig/image/decode.h"
#include "vig/image/exif.h"

namespace vig {
namespace {

using test::big_endian;
using test::data_path;
using test::HeifBytes;
using test::HeifItemBytes;

Image read_format(const std::string& name) {
  return read_image(data_path("formats/" + name).string());
}

Image decode_text(const std::string& bytes, const DecodeOptions& options = {}) {
  return decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x", options);
}

std::string decoding_error(const std::string& bytes, const DecodeOptions& options = {}) {
  try {
    decode_text(bytes, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    return error.what();
  }
  return "no error";
}

HeifItemBytes seed(const std::string& name) {
  return test::item_of(test::read_bytes(data_path("formats/" + name)));
}

// libheif's conversion between YCbCr and RGB differs by one between versions, and the lossy files
// were coded at a quality whose mean error is below 4.
TEST(Heif, ImagesLookLikeTheirPng) {
  const struct {
    const char *file, *png;
    int largest;
    double mean;
  } cases[] = {
      {"lossless.heic", "small.png", 2, 1.0}, {"lossless.avif", "small.png", 2, 1.0},
      {"grid.heic", "grid.png", 2, 1.0},      {"grid.avif", "grid.png", 2, 1.0},
      {"photo.heic", "photo.png", 80, 4.0},   {"photo.avif", "photo.png", 80, 4.0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.file);
    const Image image = read_format(c.file), expected = read_format(c.png);
    ASSERT_EQ(image.width, expected.width);
    ASSERT_EQ(image.height, expected.height);
    int largest = 0;
    double sum = 0;
    for (size_t i = 0; i < image.rgb.size(); ++i) {
      const int difference = std::abs(image.rgb[i] - expected.rgb[i]);
      largest = std::max(largest, difference);
      sum += difference;
    }
    EXPECT_LE(largest, c.largest);
    EXPECT_LE(sum / static_cast<double>(image.rgb.size()), c.mean);
  }
}

Image cut(const Image& image, int left, int top, int width, int height) {
  Image result(width, height);
  for (int y = 0; y < height; ++y) {
    std::copy_n(image.row(top + y) + left * 3, result.row_bytes(), result.row(y));
  }
  return result;
}

std::string crop_box(uint32_t width, uint32_t height, int32_t x, int32_t y, uint32_t below = 1) {
  std::string text;
  for (const auto value : {width, height, static_cast<uint32_t>(x), static_cast<uint32_t>(y)}) {
    text += big_endian(value, 4) + big_endian(below, 4);
  }
  return test::box("clap", text);
}

TEST(Heif, TransformsAreAppliedInOrder) {
  const Image plain = read_format("lossless.avif");
  const Image part = cut(plain, 7, 11, 20, 12);
  constexpr int kTurnLeft = 8, kMirrored = 2;
  EXPECT_EQ(read_format("cropped_turned_mirrored.avif"),
            orient(orient(part, kTurnLeft), kMirrored));

  HeifItemBytes item = seed("lossless.avif");
  const auto with = [&](const std::string& transforms) {
    item.transforms = transforms;
    return decode_text(HeifBytes{{item}, {}}.file());
  };
  const auto irot = [](int angle) {
    return test::box("irot", big_endian(static_cast<uint64_t>(angle), 1));
  };
  const auto imir = [](int axis) {
    return test::box("imir", big_endian(static_cast<uint64_t>(axis), 1));
  };
  EXPECT_EQ(with(""), plain);
  EXPECT_EQ(with(irot(1)), orient(plain, 8));
  EXPECT_EQ(with(irot(2)), orient(plain, 3));
  EXPECT_EQ(with(irot(3)), orient(plain, 6));
  EXPECT_EQ(with(imir(0)), orient(plain, 4));
  EXPECT_EQ(with(imir(1)), orient(plain, 2));
  EXPECT_EQ(with(imir(0) + irot(1)), orient(orient(plain, 4), 8));
  EXPECT_EQ(with(irot(1) + imir(0)), orient(orient(plain, 8), 4));
}

// One property can be named 255 times, and every transformation is a pass over the image.
TEST(Heif, RepeatedTransformsAreRefused) {
  HeifItemBytes item = seed("lossless.avif");
  const std::string irot = test::box("irot", big_endian(1, 1));
  const std::string imir = test::box("imir", big_endian(1, 1));
  const std::string clap = crop_box(40, 30, 0, 0);
  const auto error = [&](const std::string& transforms) {
    item.transforms = transforms;
    return decoding_error(HeifBytes{{item}, {}}.file());
  };
  const std::string start = "x: damaged HEIC or AVIF: two boxes ", end = " for one image";
  EXPECT_EQ(error(clap + irot + imir), "no error");
  EXPECT_EQ(error(irot + imir + irot), start + "irot" + end);
  EXPECT_EQ(error(imir + imir), start + "imir" + end);
  EXPECT_EQ(error(clap + clap), start + "clap" + end);
}

// They belong to the image, unlike the orientation of EXIF.
TEST(Heif, TransformsDoNotDependOnTheOption) {
  const std::string path = data_path("formats/cropped_turned_mirrored.avif").string();
  EXPECT_EQ(read_image(path, {.apply_orientation = false}), read_image(path));
}

TEST(Heif, CropsStayInside) {
  HeifItemBytes item = seed("lossless.avif");
  const std::string start = "x: damaged HEIC or AVIF: ";
  const auto error = [&](const std::string& crop) {
    item.transforms = crop;
    return decoding_error(HeifBytes{{item}, {}}.file());
  };
  EXPECT_EQ(error(crop_box(40, 30, 0, 0)), "no error");
  EXPECT_EQ(error(crop_box(41, 30, 0, 0)),
            start + "a crop to 41x30 at (-1, 0) of an image of 40x30");
  EXPECT_EQ(error(crop_box(20, 30, 11, 0)),
            start + "a crop to 20x30 at (21, 0) of an image of 40x30");
  EXPECT_EQ(error(crop_box(0, 30, 0, 0)), start + "a crop to 0x30 at (20, 0) of an image of 40x30");
  EXPECT_EQ(error(crop_box(20, 20, 0, 0, 0)), start + "a crop with a denominator of 0");
}

TEST(Heif, OtherKindsOfImagesAreRefused) {
  HeifItemBytes item = seed("lossless.avif");
  for (const std::string type : {"iovl", "iden", "jpeg", "ab\1c"}) {
    item.type = type;
    const std::string shown = type.starts_with("ab") ? "ab?c" : type;
    EXPECT_EQ(decoding_error(HeifBytes{{item}, {}}.file()),
              "x: a HEIF image of type " + shown + ", expected hvc1, av01 or a grid of them");
  }
}

TEST(Heif, CodedSizesCountNotDeclaredOnes) {
  for (const char* file : {"photo.avif", "photo.heic"}) {
    SCOPED_TRACE(file);
    HeifItemBytes item = seed(file);
    EXPECT_EQ(decoding_error(HeifBytes{{item}, {}}.file()), "no error");
    const std::string size = fmt::format("{}x{}", item.width, item.height);
    item.width = 16;
    item.height = 16;
    const std::string lie = HeifBytes{{item}, {}}.file();
    EXPECT_EQ(decoding_error(lie, {.max_pixels = 1000}),
              "x: an image of " + size +
                  " pixels, over the limit of 1000 pixels (raise it with --max-pixels)");
    EXPECT_EQ(decoding_error(lie),
              "x: damaged HEIC or AVIF: a coded image of " + size + " pixels, expected 16x16");
  }
}

// Every frame and slice costs a pass over the image, however few bytes it has.
TEST(Heif, RepeatedFramesAreRefused) {
  for (const char* file : {"photo.avif", "photo.heic"}) {
    HeifItemBytes item = seed(file);
    const std::string once = item.data;
    for (int i = 0; i < 200; ++i) item.data += once;
    EXPECT_EQ(decoding_error(HeifBytes{{item}, {}}.file()),
              "x: damaged HEIC or AVIF: 201 frames and slices in an image, expected at most 200 "
              "(a fixed limit)")
        << file;
  }
}

HeifItemBytes grid_item(int rows, int columns, uint32_t width, uint32_t height) {
  HeifItemBytes item;
  item.type = "grid";
  item.width = width;
  item.height = height;
  item.data = big_endian(0, 2) + big_endian(static_cast<uint64_t>(rows - 1), 1) +
              big_endian(static_cast<uint64_t>(columns - 1), 1) + big_endian(width, 2) +
              big_endian(height, 2);
  return item;
}

TEST(Heif, GridsAreChecked) {
  const std::string start = "x: damaged HEIC or AVIF: ";
  const HeifItemBytes tile = seed("photo.avif");  // 80 x 60
  HeifBytes heif;
  heif.items = {grid_item(1, 2, 150, 60), tile, tile};
  heif.tiles = {2, 3};
  EXPECT_EQ(decoding_error(heif.file()), "no error");
  heif.tiles = {2};
  EXPECT_EQ(decoding_error(heif.file()), start + "1 tiles for a grid of 2x1");
  heif.tiles = {2, 1};  // itself
  EXPECT_EQ(decoding_error(heif.file()),
            "x: a HEIF image of type grid, expected hvc1, av01 or a grid of them");
  heif.tiles = {2, 9};
  EXPECT_EQ(decoding_error(heif.file()), start + "item 9 is missing");
  heif.tiles = {2, 3};
  heif.items[0] = grid_item(1, 2, 161, 60);
  EXPECT_EQ(decoding_error(heif.file()),
            start + "2x1 tiles of 80x60 pixels for an image of 161x60");
  heif.items[0] = grid_item(1, 2, 80, 60);
  EXPECT_EQ(decoding_error(heif.file()), start + "2x1 tiles of 80x60 pixels for an image of 80x60");
  heif.items[0] = grid_item(2, 1, 80, 120);
  EXPECT_EQ(decoding_error(heif.file()),
            start + "1x2 tiles of 80x60 pixels for an image of 80x120");
}

TEST(Heif, TilesHaveOneSize) {
  HeifBytes heif;
  heif.items = {grid_item(1, 2, 150, 60), seed("photo.avif"), seed("photo.avif")};
  heif.tiles = {2, 3};
  for (const auto& [width, height] : {std::pair{80, 61}, {81, 60}, {79, 60}, {400, 300}}) {
    heif.items[2].width = static_cast<uint32_t>(width);
    heif.items[2].height = static_cast<uint32_t>(height);
    EXPECT_EQ(decoding_error(heif.file()), "x: damaged HEIC or AVIF: tiles of different sizes");
  }
  heif.items[2].config.clear();
  EXPECT_EQ(decoding_error(heif.file()), "x: damaged HEIC or AVIF: item 3 has no decoder settings");
}

// The brand is what the writer thought of; the image inside decides.
TEST(Heif, FilesOfEveryBrand) {
  const Image plain = read_format("lossless.avif");
  std::string file = HeifBytes{{seed("lossless.avif")}, {}}.file();
  for (const char* brand : {"heic", "heix", "hevc", "hevx", "avif", "avis", "mif1", "msf1"}) {
    file.replace(8, 4, brand);
    EXPECT_EQ(decode_text(file), plain) << brand;
  }
  file.replace(8, 4, "mp42");
  EXPECT_NE(decoding_error(file).find("not an image in a supported format"), std::string::npos);
}

// One tile named thousands of times would be decoded as often.
TEST(Heif, SharedTilesAreRefused) {
  HeifBytes heif;
  heif.items = {grid_item(20, 20, 1600, 1200), seed("photo.avif")};
  heif.items[1].height = 64;
  heif.tiles.assign(400, 2);
  EXPECT_EQ(decoding_error(heif.file()), "x: damaged HEIC or AVIF: tiles share their data");
  heif.items[0] = grid_item(100, 100, 8000, 6000);
  heif.tiles.assign(10000, 2);
  EXPECT_EQ(decoding_error(heif.file()),
            "x: a grid of 10000 tiles, expected at most 1024 (a fixed limit)");
}

// 255 tiles of 150 frames each, of which every tile alone would be allowed.
TEST(Heif, TheFramesOfAllTilesCount) {
  HeifItemBytes tile = seed("photo.avif");  // 80 x 60
  const std::string once = tile.data;
  for (int i = 1; i < 150; ++i) tile.data += once;
  HeifBytes heif;
  heif.items.assign(256, tile);
  heif.items[0] = grid_item(1, 255, 20400, 60);
  for (uint32_t i = 0; i < 255; ++i) heif.tiles.push_back(i + 2);
  EXPECT_EQ(decoding_error(heif.file()),
            "x: damaged HEIC or AVIF: frames and slices of 183600000 pixels, expected at most "
            "134217728 (a fixed limit)");
}

// 10-bit 4:4:4 takes four times as long as the 8-bit 4:2:0 of as many pixels.
TEST(Heif, BytesOfHevcFramesAreBounded) {
  const HeifItemBytes tile = seed("flat_444_10bit.heic");  // 512 x 512, 6 bytes a pixel
  const auto error = [&](int rows, const DecodeOptions& options) {
    HeifBytes heif;
    heif.items.assign(static_cast<size_t>(rows) * 8 + 1, tile);
    heif.items[0] = grid_item(rows, 8, 8 * 512, static_cast<uint32_t>(rows) * 512);
    for (uint32_t i = 0; i < static_cast<uint32_t>(rows) * 8; ++i) heif.tiles.push_back(i + 2);
    return decoding_error(heif.file(), options);
  };
  EXPECT_EQ(error(1, {}), "no error");
  EXPECT_EQ(error(9, {}),
            "x: HEIC frames of 113246208 bytes, over the limit of 100663296 (raise it with "
            "--max-pixels)");
  EXPECT_EQ(error(6, {.max_pixels = 6 * 8 * 512 * 512}),
            "x: HEIC frames of 75497472 bytes, over the limit of 67108864 (raise it with "
            "--max-pixels)");
  // Further frames are decoded, too.
  HeifItemBytes often = seed("photo.heic");
  const std::string once = often.data;
  for (int i = 1; i < 200; ++i) often.data += once;  // 80 x 60, coded as 80 x 64
  HeifBytes heif;
  heif.items.assign(65, often);
  heif.items[0] = grid_item(1, 64, 64 * often.width, often.height);
  for (uint32_t i = 0; i < 64; ++i) heif.tiles.push_back(i + 2);
  EXPECT_EQ(decoding_error(heif.file(), {.max_pixels = 1 << 22}),
            "x: HEIC frames of 98304000 bytes, over the limit of 67108864 (raise it with "
            "--max-pixels)");
}

TEST(Heif, ManyItemsAreRefused) {
  HeifBytes heif;
  HeifItemBytes other;
  other.type = "Exif";
  heif.items.assign(10001, other);
  EXPECT_EQ(decoding_error(heif.file()),
            "x: damaged HEIC or AVIF: more than 10000 items (a fixed limit)");
}

TEST(Heif, CutAndFlippedAnywhere) {
  std::mt19937 random(5);
  const auto attempt = [](const std::vector<uint8_t>& bytes) {
    try {
      const Image image = decode_image(bytes, "x", {.max_pixels = 1 << 16});
      EXPECT_EQ(image.rgb.size(), image.row_bytes() * static_cast<size_t>(image.height));
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("x: ", 0), 0u) << error.what();
      return false;
    }
  };
  for (const char* file :
       {"lossless.heic", "photo.heic", "photo.avif", "grid.avif", "cropped_turned_mirrored.avif"}) {
    SCOPED_TRACE(file);
    const auto whole = test::read_bytes(data_path(std::string("formats/") + file));
    for (size_t size = 0; size < whole.size(); size += whole.size() / 300 + 1) {
      const std::vector<uint8_t> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(attempt(part)) << size;
    }
    for (int round = 0; round < 200; ++round) {
      auto bytes = whole;
      for (int flip = 0; flip < 1 + round % 4; ++flip) {
        const size_t range = round % 2 == 0 ? std::min<size_t>(bytes.size(), 500) : bytes.size();
        bytes[random() % range] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      attempt(bytes);
    }
  }
}

}  // namespace
}  // namespace vig
