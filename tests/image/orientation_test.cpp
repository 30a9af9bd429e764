#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "image/fixtures.h"
#include "vig/image/decode.h"
#include "vig/image/exif.h"
#include "vig/image/image_size.h"

namespace vig {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

// EXIF with one entry besides the orientation.
Bytes make_exif(uint8_t orientation, bool big_endian) {
  using namespace std::string_view_literals;
  Bytes exif = bytes_of(big_endian ? "MM\0*\0\0\0\x08\0\x02"
                                     "\1\0\0\3\0\0\0\1\0\x10\0\0"
                                     "\1\x12\0\3\0\0\0\1\0?\0\0"
                                     "\0\0\0\0"sv
                                   : "II*\0\x08\0\0\0\x02\0"
                                     "\0\1\3\0\1\0\0\0\x10\0\0\0"
                                     "\x12\1\3\0\1\0\0\0?\0\0\0"
                                     "\0\0\0\0"sv);
  *std::find(exif.begin(), exif.end(), '?') = orientation;
  return exif;
}

// What EXIF's table says: which stored side is shown at the top, and which at the left.
Image shown_by_table(const Image& stored, int orientation) {
  const int w = stored.width, h = stored.height;
  const bool exchange = orientation >= 5;
  Image shown(exchange ? h : w, exchange ? w : h);
  for (int y = 0; y < shown.height; ++y) {
    for (int x = 0; x < shown.width; ++x) {
      const int column[] = {x, w - 1 - x, w - 1 - x, x, y, y, w - 1 - y, w - 1 - y};
      const int row[] = {y, y, h - 1 - y, h - 1 - y, x, h - 1 - x, h - 1 - x, x};
      std::copy_n(stored.row(row[orientation - 1]) + column[orientation - 1] * 3, 3,
                  shown.row(y) + x * 3);
    }
  }
  return shown;
}

TEST(Orientation, TurnsAsTheTableSays) {
  for (const auto& [width, height] : {std::pair{3, 2}, {1, 5}, {70, 131}, {1, 1}}) {
    const Image stored = test::pattern(width, height);
    for (int o = 1; o <= 8; ++o) {
      EXPECT_EQ(orient(stored, o), shown_by_table(stored, o)) << width << "x" << height << " " << o;
    }
    for (const int o : {-1, 0, 9}) EXPECT_EQ(orient(stored, o), stored);
  }
}

TEST(Orientation, ReadsBothByteOrders) {
  for (int o = 1; o <= 8; ++o) {
    for (const bool big : {false, true}) {
      Bytes exif = make_exif(static_cast<uint8_t>(o), big);
      EXPECT_EQ(exif_orientation(exif), o);
      exif.insert(exif.begin(), {'E', 'x', 'i', 'f', 0, 0});
      EXPECT_EQ(exif_orientation(exif), o);
    }
  }
}

TEST(Orientation, BadExifMeansAsStored) {
  EXPECT_EQ(exif_orientation({}), 1);
  EXPECT_EQ(exif_orientation(make_exif(0, false)), 1);
  EXPECT_EQ(exif_orientation(make_exif(9, true)), 1);
  for (const bool big : {false, true}) {
    const Bytes exif = make_exif(6, big);
    // Exact copies, so that the address sanitiser sees every read outside.
    for (size_t size = 0; size < exif.size(); ++size) {
      const Bytes cut(exif.begin(), exif.begin() + static_cast<ptrdiff_t>(size));
      const int orientation = exif_orientation(cut);
      EXPECT_TRUE(orientation == 1 || orientation == 6);
      // What lies behind the end would be right. The value is bytes 30 and 31.
      EXPECT_EQ(exif_orientation(std::span(exif).first(size)), size < 32 ? 1 : 6) << size;
    }
    for (size_t i = 0; i < exif.size(); ++i) {
      Bytes bad = exif;
      for (const uint8_t value : {0x00, 0x7F, 0x80, 0xFF}) {
        bad[i] = value;
        const int orientation = exif_orientation(bad);
        EXPECT_TRUE(orientation >= 1 && orientation <= 8);
      }
    }
  }
}

// One number of two bytes, as the standard says, or of four, as some writers have it.
TEST(Orientation, IsOneNumber) {
  for (const bool big : {false, true}) {
    const auto with = [&](uint8_t type, uint8_t count) {
      Bytes exif = make_exif(6, big);
      exif[big ? 25 : 24] = type;
      exif[big ? 29 : 26] = count;
      if (big && type == 4) std::swap(exif[31], exif[33]);  // the last of four bytes
      return exif_orientation(exif);
    };
    EXPECT_EQ(with(3, 1), 6);
    EXPECT_EQ(with(4, 1), 6);
    for (const uint8_t type : {0, 1, 2, 5, 8, 9}) EXPECT_EQ(with(type, 1), 1) << int{type};
    for (const uint8_t count : {0, 2}) {
      EXPECT_EQ(with(3, count), 1);
      EXPECT_EQ(with(4, count), 1);
    }
  }
}

void expect_oriented(const Bytes& file, int orientation) {
  const Image stored = decode_image(file, "x", test::kAsStored);
  const Image shown = decode_image(file, "x");
  EXPECT_EQ(shown, shown_by_table(stored, orientation));
  const ImageSource source = {"x", file.size(), 0,
                              [&](Bytes&) { return std::span<const uint8_t>(file); }};
  EXPECT_EQ(read_image_size(source), (ImageSize{shown.width, shown.height})) << orientation;
  EXPECT_EQ(read_image_size(source, test::kAsStored), (ImageSize{stored.width, stored.height}));
}

TEST(Orientation, OfJpeg) {
  const Bytes plain = test::read_bytes(test::data_path("photos/rocket_strip_640x12.jpg"));
  for (int o = 1; o <= 8; ++o) {
    Bytes exif = bytes_of(std::string_view("Exif\0\0", 6));
    append(exif, make_exif(static_cast<uint8_t>(o), o % 2 == 0));
    // Other data in the same kind of segment, and then ours.
    Bytes file = {0xFF, 0xD8, 0xFF, 0xE1, 0,    6, 'h',
                  't',  't',  'p',  0xFF, 0xE1, 0, static_cast<uint8_t>(exif.size() + 2)};
    append(file, exif);
    append(file, Bytes(plain.begin() + 2, plain.end()));
    expect_oriented(file, o);
  }
}

TEST(Orientation, OfPng) {
  const Bytes plain = test::read_bytes(test::data_path("photos/rocket_palette_2bit.png"));
  const Bytes exif = make_exif(6, true);
  Bytes chunk = {0, 0, 0, static_cast<uint8_t>(exif.size()), 'e', 'X', 'I', 'f'};
  append(chunk, exif);
  const auto crc = crc32(0, chunk.data() + 4, static_cast<uInt>(chunk.size() - 4));
  for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<uint8_t>(crc >> shift));
  constexpr ptrdiff_t kAfterHeader = 33, kEnd = 12;
  for (const ptrdiff_t at : {kAfterHeader, static_cast<ptrdiff_t>(plain.size()) - kEnd}) {
    Bytes file = plain;
    file.insert(file.begin() + at, chunk.begin(), chunk.end());
    expect_oriented(file, 6);
  }
}

TEST(Orientation, OfWebp) {
  expect_oriented(test::read_bytes(test::data_path("photos/hopper_orient6.webp")), 6);
}

}  // namespace
}  // namespace vig
