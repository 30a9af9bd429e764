// BMP, GIF, PBM, PGM and PPM: small files of every kind against the pixels that Pillow reads.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "vig/base/error.h"
#include "vig/image/decode.h"

namespace vig {
namespace {

using test::data_path;

std::string bytes_error(const std::string& bytes, const DecodeOptions& options = {}) {
  try {
    decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x", options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    return error.what();
  }
  return "no error";
}

Image decode_bytes(const std::string& bytes) {
  return decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x");
}

TEST(Formats, EveryFileEqualsPillow) {
  int files = 0;
  for (const auto& row : test::read_table(data_path("formats/golden.tsv"))) {
    if (row.at(0) == "file") continue;
    SCOPED_TRACE(row[0]);
    const Image image = read_image(data_path("formats/" + row[0]).string());
    EXPECT_EQ(image.width, std::stoi(row.at(1)));
    EXPECT_EQ(image.height, std::stoi(row.at(2)));
    EXPECT_EQ(test::hash(image.rgb), std::stoull(row.at(3), nullptr, 16));
    ++files;
  }
  EXPECT_EQ(files, 30);
}

// The lossless ones of full depth, byte for byte.
TEST(Formats, SameImageAsPng) {
  const Image expected = read_image(data_path("formats/rgb.png").string());
  for (const char* file : {"rgb24.bmp", "top_down24.bmp", "os2_24.bmp", "rgb32.bmp",
                           "fields32_v4.bmp", "binary.ppm", "text.ppm", "maxval1000.ppm"}) {
    EXPECT_EQ(read_image(data_path(std::string("formats/") + file).string()), expected) << file;
  }
}

std::string le16(uint32_t v) { return {static_cast<char>(v), static_cast<char>(v >> 8)}; }
std::string le32(uint32_t v) { return le16(v & 0xFFFF) + le16(v >> 16); }

// A BMP of 40 header bytes; `palette` in the file's order, blue first, four bytes a colour.
std::string bmp(int width, int height, uint32_t bits, uint32_t compression,
                const std::string& palette, const std::string& pixels) {
  const auto colours = static_cast<uint32_t>(palette.size() / 4);
  return "BM" + le32(0) + le32(0) + le32(54 + static_cast<uint32_t>(palette.size())) + le32(40) +
         le32(static_cast<uint32_t>(width)) + le32(static_cast<uint32_t>(height)) + le16(1) +
         le16(bits) + le32(compression) + le32(0) + le32(0) + le32(0) + le32(colours) + le32(0) +
         palette + pixels;
}

// Gray values of the first channel.
std::vector<int> reds(const Image& image) {
  std::vector<int> values;
  for (size_t i = 0; i < image.rgb.size(); i += 3) values.push_back(image.rgb[i]);
  return values;
}

using namespace std::string_literals;

// Black, then colours whose red is 10, 20 and 30.
const std::string kFour = "\0\0\0\0\0\0\x0A\0\0\0\x14\0\0\0\x1E\0"s;

TEST(Formats, BmpRunLengthsMoveAndClip) {
  // From the bottom: two pixels of 1; one right and one up; literal 2 3 2 with a byte of padding.
  const std::string moves = "\2\1\0\2\1\1\0\3\2\3\2\0\0\1"s;
  EXPECT_EQ(reds(decode_bytes(bmp(6, 2, 8, 1, kFour, moves))),
            (std::vector<int>{0, 0, 0, 20, 30, 20, 10, 10, 0, 0, 0, 0}));
  // A run longer than its row does not reach the next one. An empty row stays 0.
  const std::string clipped = "\5\1\0\0\0\0\1\2\0\1"s;
  EXPECT_EQ(reds(decode_bytes(bmp(2, 3, 8, 1, kFour, clipped))),
            (std::vector<int>{20, 0, 0, 0, 10, 10}));
  EXPECT_EQ(reds(decode_bytes(bmp(2, 2, 8, 1, kFour, "\0\0\5\1\0\1"s))),
            (std::vector<int>{10, 10, 0, 0}));
  // Moving out of the image ends it.
  EXPECT_EQ(reds(decode_bytes(bmp(2, 1, 8, 1, kFour, "\1\3\0\2\0\xFF"s))),
            (std::vector<int>{30, 0}));
  // The last row may end without its mark; an earlier one, or an unfinished one, may not.
  EXPECT_EQ(reds(decode_bytes(bmp(2, 2, 8, 1, kFour, "\2\1\0\0\2\2"s))),
            (std::vector<int>{20, 20, 10, 10}));
  EXPECT_EQ(bytes_error(bmp(2, 2, 8, 1, kFour, "\2\1"s)),
            "x: damaged BMP: the file ends early, 1 bytes are missing");
  EXPECT_EQ(bytes_error(bmp(2, 2, 8, 1, kFour, "\2\1\0\0\1\1"s)),
            "x: damaged BMP: the file ends early, 1 bytes are missing");
}

TEST(Formats, BmpFieldsOfAnyWidth) {
  // Ten bits of red from bit 20 on, four of green, one of blue.
  const std::string masks = le32(0x3FF00000) + le32(0xF0) + le32(1);
  std::string file =
      bmp(2, 1, 32, 3, "", masks + le32(1023u << 20 | 15 << 4 | 1) + le32(512u << 20));
  file[10] = 66;
  EXPECT_EQ(decode_bytes(file).rgb, (std::vector<uint8_t>{255, 255, 255, 127, 0, 0}));
  file[54] = 5;  // bits that are no neighbours
  EXPECT_EQ(bytes_error(file),
            "x: damaged BMP: a colour in the bits 0x3ff00005, expected neighbours");
}

TEST(Formats, BmpFieldsMayBeEmptyOrFollowedByAlpha) {
  // No green at all; compression 6 has a fourth mask, which does not count.
  const std::string masks = le32(0xFF0000) + le32(0) + le32(0xFF);
  for (const uint32_t compression : {3, 6}) {
    std::string file = bmp(1, 1, 32, compression, "", masks + le32(0xFF000000) + le32(0x00123456));
    file[10] = 70;
    EXPECT_EQ(decode_bytes(file).rgb, (std::vector<uint8_t>{0x12, 0, 0x56})) << compression;
  }
}

// Headers grew by versions; what a header has beyond the size does not matter here.
TEST(Formats, BmpHeadersOfEveryLength) {
  const std::string pixel = "\x03\x02\x01"s;  // blue first, and without padding at the end
  for (const uint32_t length : {16, 40, 52, 56, 64, 108, 124}) {
    std::string header = le32(length) + le32(1) + le32(2) + le16(1) + le16(24);
    header.resize(length);
    const std::string file =
        "BM" + le32(0) + le32(0) + le32(14 + length) + header + pixel + "\0"s + pixel;
    EXPECT_EQ(decode_bytes(file).rgb, (std::vector<uint8_t>{1, 2, 3, 1, 2, 3})) << length;
    EXPECT_EQ(bytes_error(file.substr(0, file.size() - 1)),
              "x: damaged BMP: 6 bytes of pixels, expected 7");
  }
  // Of OS/2, compression 3 is another one.
  std::string header = le32(64) + le32(1) + le32(1) + le16(1) + le16(24) + le32(3);
  header.resize(64);
  EXPECT_EQ(bytes_error("BM" + le32(0) + le32(0) + le32(78) + header + pixel),
            "x: a BMP of 24 bits a pixel with compression 3, which is not supported");
}

// A header may claim more colours than its pixels can name.
TEST(Formats, BmpPalettesEndWithWhatPixelsCanName) {
  std::string palette;
  for (int i = 0; i < 16; ++i) palette += "\0\0"s + static_cast<char>(100 + i) + "\0"s;
  std::string file = bmp(2, 1, 4, 0, palette, "\x0F\0\0\0"s);
  EXPECT_EQ(reds(decode_bytes(file)), (std::vector<int>{100, 115}));
  file.replace(46, 4, le32(1000));
  EXPECT_EQ(reds(decode_bytes(file)), (std::vector<int>{100, 115}));
  file.replace(46, 4, le32(0));  // all of them
  EXPECT_EQ(reds(decode_bytes(file)), (std::vector<int>{100, 115}));
}

TEST(Formats, BmpSaysWhatItDoesNotRead) {
  EXPECT_EQ(bytes_error(bmp(1, 1, 8, 4, kFour, "1234")),
            "x: a BMP of 8 bits a pixel with compression 4, which is not supported");
  EXPECT_EQ(bytes_error(bmp(1, 1, 2, 0, kFour, "1234")),
            "x: a BMP of 2 bits a pixel with compression 0, which is not supported");
  std::string header = bmp(1, 1, 8, 0, kFour, "1234");
  header[14] = 41;
  EXPECT_EQ(bytes_error(header), "x: a BMP header of 41 bytes, which is none of the known kinds");
  std::string overlap = bmp(1, 1, 8, 0, kFour, "1234");
  overlap[10] = 60;
  EXPECT_EQ(bytes_error(overlap), "x: damaged BMP: pixels at byte 60, expected between 70 and 74");
  EXPECT_EQ(bytes_error(bmp(4, 2, 24, 0, "", std::string(20, 'x'))),
            "x: damaged BMP: 20 bytes of pixels, expected 24");
}

// Pixels of a GIF: codes of `bits` bits each, from the lowest bit on, in one sub-block.
std::string codes(const std::vector<uint32_t>& values, int bits) {
  std::string bytes;
  uint32_t buffer = 0;
  int held = 0;
  for (const uint32_t value : values) {
    buffer |= value << held;
    for (held += bits; held >= 8; held -= 8, buffer >>= 8) bytes += static_cast<char>(buffer);
  }
  if (held > 0) bytes += static_cast<char>(buffer);
  return static_cast<char>(bytes.size()) + bytes + "\0"s;
}

// Two colours, whose red is 10 and 20; pixels of two bits.
std::string gif(uint32_t screen_width, uint32_t screen_height, uint32_t left, uint32_t top,
                uint32_t width, uint32_t height, const std::string& pixels) {
  return "GIF89a" + le16(screen_width) + le16(screen_height) + "\x80\0\0\x0A\0\0\x14\0\0,"s +
         le16(left) + le16(top) + le16(width) + le16(height) + "\0\2"s + pixels + ";";
}

TEST(Formats, GifCodes) {
  // Clear, 1, then the string that is only being made (6 = 1 1), end.
  EXPECT_EQ(reds(decode_bytes(gif(3, 1, 0, 0, 3, 1, codes({4, 1, 6, 5}, 3)))),
            (std::vector<int>{20, 20, 20}));
  // Colours outside the palette are gray; pixels beyond the frame are dropped.
  EXPECT_EQ(reds(decode_bytes(gif(2, 1, 0, 0, 2, 1, codes({4, 0, 3}, 3)))),
            (std::vector<int>{10, 3}));
  // A frame outside the screen enlarges it; around the frame there is colour 0.
  EXPECT_EQ(reds(decode_bytes(gif(1, 1, 1, 1, 2, 1, codes({4, 1, 1}, 3)))),
            (std::vector<int>{10, 10, 10, 10, 20, 20}));
  // Also where the frame is as high as the screen, or as wide.
  EXPECT_EQ(reds(decode_bytes(gif(3, 1, 1, 0, 1, 1, codes({4, 1}, 3)))),
            (std::vector<int>{10, 20, 10}));
  EXPECT_EQ(reds(decode_bytes(gif(1, 3, 0, 1, 1, 1, codes({4, 1}, 3)))),
            (std::vector<int>{10, 20, 10}));
}

TEST(Formats, GifBlocksBeforeTheFrame) {
  const std::string whole = gif(3, 1, 1, 0, 1, 1, codes({4, 1}, 3));
  const size_t frame = whole.find(',');
  const auto before = [&](const std::string& blocks) {
    std::string file = whole;
    return reds(decode_bytes(file.insert(frame, blocks)));
  };
  EXPECT_EQ(before("\0\0"s), (std::vector<int>{10, 20, 10}));  // surplus ends
  EXPECT_EQ(before("!\xFE\3abc\2de\0"s), (std::vector<int>{10, 20, 10}));
  // Outside of the frame is the transparent colour, of a control block that names one.
  EXPECT_EQ(before("!\xF9\4\1\0\0\1\0"s), (std::vector<int>{20, 20, 20}));
  EXPECT_EQ(before("!\xF9\4\0\0\0\1\0"s), (std::vector<int>{10, 20, 10}));
  EXPECT_EQ(before("!\xFE\4\1\0\0\1\0"s), (std::vector<int>{10, 20, 10}));
  // Too short for it: the byte at its offset is the frame's position, 1.
  EXPECT_EQ(before("!\xF9\1\1\0"s), (std::vector<int>{10, 20, 10}));
}

TEST(Formats, GifSaysWhatIsWrong) {
  EXPECT_EQ(bytes_error(gif(2, 2, 0, 0, 2, 2, codes({4, 0, 0, 5}, 3))),
            "x: damaged GIF: the pixels end in row 1 of 2");
  EXPECT_EQ(bytes_error(gif(2, 2, 0, 0, 2, 2, codes({4, 0}, 3))),
            "x: damaged GIF: the pixels end in row 0 of 2");
  EXPECT_EQ(bytes_error(gif(2, 2, 0, 0, 2, 2, codes({4, 0, 7}, 3))),
            "x: damaged GIF: code 7, but 6 is the next");
  EXPECT_EQ(bytes_error(gif(2, 2, 0, 0, 2, 2, codes({6}, 3))),
            "x: damaged GIF: code 6, but 6 is the next");
  EXPECT_EQ(bytes_error(gif(2, 2, 0, 0, 0, 2, "")), "x: damaged GIF: a frame of 0x2 pixels");
  for (const int bits : {0, 9, 12, 255}) {
    std::string file = gif(1, 1, 0, 0, 1, 1, codes({4, 1, 5}, 3));
    file[29] = static_cast<char>(bits);
    EXPECT_EQ(bytes_error(file),
              "x: damaged GIF: pixels of " + std::to_string(bits) + " bits, expected 1 to 8");
  }
  EXPECT_EQ(bytes_error("GIF89a\1\0\1\0\0\0\0;"s), "x: a GIF without frames");
  EXPECT_EQ(bytes_error("GIF89a\1\0\1\0\0\0\0?"s), "x: damaged GIF: a block of kind 0x3f");
  EXPECT_EQ(bytes_error(gif(1, 1, 0, 0, 60000, 60000, "")),
            "x: an image of 60000x60000 pixels, over the limit of 67108864 pixels (raise it with "
            "--max-pixels)");
}

TEST(Formats, PnmNumbersAndSpaces) {
  EXPECT_EQ(reds(decode_bytes("P2#c\r2 #d\n 1\t255\n#e\n 7\n255")), (std::vector<int>{7, 255}));
  EXPECT_EQ(reds(decode_bytes("P1 3 1\n0 11")), (std::vector<int>{255, 0, 0}));
  EXPECT_EQ(reds(decode_bytes("P2 2 1 9 3 9")), (std::vector<int>{85, 255}));  // no byte to spare
  EXPECT_EQ(reds(decode_bytes("P1 3 1 010")), (std::vector<int>{255, 0, 255}));
  // Halves are rounded to even: 76.5 and 25.5.
  EXPECT_EQ(reds(decode_bytes("P2 2 1 1000 300 100")), (std::vector<int>{76, 26}));
  // Binary samples above the largest are clipped.
  EXPECT_EQ(reds(decode_bytes("P5 2 1 100\nd\xFF")), (std::vector<int>{255, 255}));
}

TEST(Formats, PnmSaysWhatIsWrong) {
  const std::string damaged = "x: damaged PBM, PGM or PPM: ";
  EXPECT_EQ(bytes_error("P6 2 2 255\n12345678901"), damaged + "11 bytes of pixels, expected 12");
  EXPECT_EQ(bytes_error("P2 2 1 15 3 16"), damaged + "a sample of 16, expected at most 15");
  EXPECT_EQ(bytes_error("P2 2 1 15 3 x"), damaged + "no number of 1 to 9 digits at byte 12");
  EXPECT_EQ(bytes_error("P2 2 1234567890 15 3"), damaged + "no number of 1 to 9 digits at byte 15");
  EXPECT_EQ(bytes_error("P1 2 1 1 2"), damaged + "bits other than 0 and 1");
  EXPECT_EQ(bytes_error("P5 1 1 65536 ab"), damaged + "samples up to 65536, expected 1 to 65535");
  EXPECT_EQ(bytes_error("P5 1 1 0 ab"), damaged + "samples up to 0, expected 1 to 65535");
  EXPECT_EQ(bytes_error("P6x1 1 255 abc"), damaged + "no space after P6");
  EXPECT_EQ(bytes_error("P6 1 1 255"), damaged + "no space after the header");
  EXPECT_EQ(bytes_error("P6 1 0 255 "), "x: an image of 1x0 pixels, expected at least 1x1");
  EXPECT_EQ(
      bytes_error("P5 1048577 1 255 "),
      "x: an image of 1048577x1 pixels, expected at most 1048576 along a side (a fixed limit)");
  EXPECT_EQ(
      bytes_error("P5 1 1048577 255 "),
      "x: an image of 1x1048577 pixels, expected at most 1048576 along a side (a fixed limit)");
}

TEST(Formats, TheLimitOfPixelsHoldsForAll) {
  const std::string sentence =
      "x: an image of 19x13 pixels, over the limit of 246 pixels (raise it with --max-pixels)";
  for (const char* file : {"rgb24.bmp", "rle8.bmp", "palette.gif", "binary.ppm", "text.pbm"}) {
    const std::string bytes = test::read_file(data_path(std::string("formats/") + file));
    EXPECT_EQ(bytes_error(bytes, {.max_pixels = 246}), sentence) << file;
    EXPECT_EQ(bytes_error(bytes, {.max_pixels = 247}), "no error") << file;
  }
}

// Every prefix of every file, in memory of exactly that size, and many damaged copies.
TEST(Formats, CutAndFlippedAnywhere) {
  std::mt19937 random(7);
  for (const auto& row : test::read_table(data_path("formats/golden.tsv"))) {
    if (row.at(0) == "file") continue;
    SCOPED_TRACE(row[0]);
    const auto whole = test::read_bytes(data_path("formats/" + row[0]));
    const auto try_decode = [&](const std::vector<uint8_t>& bytes) {
      try {
        const Image image = decode_image(bytes, "x", {.max_pixels = 1 << 16});
        EXPECT_EQ(image.rgb.size(), image.row_bytes() * static_cast<size_t>(image.height));
        return true;
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).rfind("x: ", 0), 0u) << error.what();
        return false;
      }
    };
    for (size_t size = 0; size < whole.size(); size += whole.size() / 2000 + 1) {
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_FALSE(try_decode(cut) && size < whole.size() / 2) << size;
    }
    for (int round = 0; round < 300; ++round) {
      auto bytes = whole;
      for (int flip = 0; flip < 1 + round % 4; ++flip) {
        const size_t range = round % 2 == 0 ? std::min<size_t>(bytes.size(), 60) : bytes.size();
        bytes[random() % range] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      try_decode(bytes);
    }
  }
}

}  // namespace
}  // namespace vig
