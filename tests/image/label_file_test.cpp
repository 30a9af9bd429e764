#include "vig/image/label_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "image/fixtures.h"
#include "support/errors.h"
#include "support/files.h"
#include "support/raw_png.h"
#include "vig/base/random.h"
#include "vig/image/decode.h"
#include "vig/image/encode.h"
#include "vig/image/encode_png.h"
#include "vig/image/image_size.h"

namespace vig::test {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
LabelMap decode(const std::string& png, const DecodeOptions& options = {}) {
  return decode_label_map(bytes_of(png), "l.png", options);
}
std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST(LabelFile, PaletteGivesIndicesNotColours) {
  const std::string png = raw_png({.width = 3,
                                   .height = 1,
                                   .color = 3,
                                   .rows = std::string("\2\0\1", 3),
                                   .palette = "abcdefghi"});
  EXPECT_EQ(decode(png).labels, (std::vector<uint8_t>{2, 0, 1}));
}

TEST(LabelFile, GrayOfFewBitsIsNotScaled) {
  EXPECT_EQ(decode(raw_png({.width = 3, .height = 2, .bits = 2, .rows = "\x1b\xe4"})).labels,
            (std::vector<uint8_t>{0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(decode(raw_png({.width = 4, .height = 1, .bits = 1, .rows = "\xa0"})).labels,
            (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(decode(raw_png({.width = 2,
                            .height = 1,
                            .bits = 4,
                            .color = 3,
                            .rows = "\x21",
                            .palette = "abcdefghi"}))
                .labels,
            (std::vector<uint8_t>{2, 1}));
  const LabelMap map = decode(label_png(2, {0, 255, 7, 11}));
  EXPECT_EQ(map.width, 2);
  EXPECT_EQ(map.height, 2);
  EXPECT_EQ(map.labels, (std::vector<uint8_t>{0, 255, 7, 11}));
}

TEST(LabelFile, SixteenBitsBelow256) {
  const auto wide = [](const std::string& rows) {
    return raw_png({.width = 2, .height = 1, .bits = 16, .rows = rows});
  };
  EXPECT_EQ(decode(wide(std::string("\0\7\0\xff", 4))).labels, (std::vector<uint8_t>{7, 255}));
  expect_error(ErrorCode::kInput, {"l.png", "260", "255"},
               [&] { decode(wide(std::string("\0\7\1\4", 4))); });
}

TEST(LabelFile, InterlacedOnesAreTheSame) {
  for (const char* kind : {"0g01", "0g02", "0g04", "0g08", "3p01", "3p02", "3p04", "3p08"}) {
    const auto read = [&](const std::string& start) {
      return read_label_map(data_path("pngsuite/" + start + kind + ".png").string());
    };
    const LabelMap plain = read("basn");
    EXPECT_EQ(read("basi"), plain) << kind;
    EXPECT_NE(std::ranges::count(plain.labels, plain.labels[0]), 32 * 32);
  }
}

TEST(LabelFile, OthersAreNamed) {
  const auto refused = [](const std::string& file, const std::string& word) {
    expect_error(ErrorCode::kInput, {"l.png: ", word}, [&] { decode(file); });
  };
  refused(raw_png({.color = 2, .rows = "abc"}), "colours for every pixel");
  refused(raw_png({.color = 4, .rows = "ab"}), "alpha");
  refused(raw_png({.color = 6, .rows = "abcd"}), "colours");
  refused(text_of(encode_jpeg(Image(4, 4))), "another format than PNG");
  refused("", "empty");
  refused("hello", "not an image");
  const std::string good = label_png(4, std::vector<int>(16, 3));
  refused(good.substr(0, good.size() - 30), "damaged");
  for (size_t size = 0; size < good.size() - 12; ++size) {
    EXPECT_FALSE(survives([&] { decode(good.substr(0, size)); })) << size;
  }
  refused(raw_png({.width = 100000, .height = 100000}), "100000x100000");
  expect_error(ErrorCode::kInput, {"4x4", "--max-pixels"},
               [&] { decode(good, {.max_pixels = 15}); });
  error_of([] { read_label_map("missing.png"); });
  EXPECT_EQ(error_of([] { read_label_map("/dev/null"); }),
            "/dev/null: expected a regular file, found a device or pipe");
}

TEST(LabelFile, FlippedBytesEndInLabelsOrErrors) {
  RandomStream stream(1);
  const std::string good = raw_png({.width = 9,
                                    .height = 7,
                                    .bits = 4,
                                    .color = 3,
                                    .rows = std::string(35, '\x12'),
                                    .palette = std::string(30, 'x')});
  for (int round = 0; round < 500; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i)
      bad[static_cast<size_t>(stream.below(static_cast<int64_t>(bad.size())))] =
          static_cast<char>(stream.below(256));
    survives([&] { decode(bad, {.max_pixels = 1 << 16}); });
  }
}

TEST(LabelFile, WrittenOnesAreReadBack) {
  LabelMap map(37, 23);
  RandomStream stream(2);
  for (uint8_t& label : map.labels) label = static_cast<uint8_t>(stream.below(256));
  const std::vector<Color> palette = {{255, 0, 0}, {0, 255, 0}};
  const TempDir folder;
  write_file(folder / "l.png", text_of(encode_label_map(map, palette)));
  EXPECT_EQ(read_label_map((folder / "l.png").string()), map);
  // Other programs show the colours.
  const Image shown = read_image((folder / "l.png").string());
  const size_t first = static_cast<size_t>(std::ranges::find(map.labels, 1) - map.labels.begin());
  EXPECT_EQ((Color{shown.rgb[first * 3], shown.rgb[first * 3 + 1], shown.rgb[first * 3 + 2]}),
            palette[1]);
  const size_t gray = static_cast<size_t>(std::ranges::find(map.labels, 77) - map.labels.begin());
  EXPECT_EQ(shown.rgb[gray * 3 + 2], 77);
}

TEST(EncodePng, KeepsEveryPixel) {
  Image image(31, 17);
  RandomStream stream(3);
  for (uint8_t& value : image.rgb) value = static_cast<uint8_t>(stream.below(256));
  EXPECT_EQ(decode_image(encode_png(image), "x"), image);
  expect_error(ErrorCode::kUsage, {"0x0"}, [] { encode_png(Image()); });
  expect_error(ErrorCode::kUsage, {"0 colours"},
               [] { encode_palette_png(std::vector<uint8_t>(1), 1, 1, {}); });
  for (const size_t bytes : {3u, 5u}) {
    expect_error(ErrorCode::kUsage, {"2x2 pixels in " + std::to_string(bytes) + " bytes"}, [&] {
      encode_palette_png(std::vector<uint8_t>(bytes), 2, 2, std::vector<Color>(1));
    });
  }
  expect_error(ErrorCode::kUsage, {"257"},
               [] { encode_palette_png(std::vector<uint8_t>(1), 1, 1, std::vector<Color>(257)); });
}

TEST(ImageSize, IsThatOfTheDecodedImage) {
  const auto size = [](const std::vector<uint8_t>& bytes, const DecodeOptions& options = {}) {
    return read_image_size({"x", bytes.size(), 0,
                            [&](std::vector<uint8_t>&) { return std::span<const uint8_t>(bytes); }},
                           options);
  };
  EXPECT_EQ(size(encode_png(Image(31, 17))), (ImageSize{31, 17}));
  EXPECT_EQ(size(encode_jpeg(Image(5, 60))), (ImageSize{5, 60}));
  error_of([&] { size({1, 2, 3}); });
  error_of([&] { size(encode_png(Image(31, 17)), {.max_pixels = 500}); });
}

}  // namespace
}  // namespace vig::test
