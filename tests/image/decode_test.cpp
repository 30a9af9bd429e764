#include "vig/image/decode.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "image/fixtures.h"
#include "vig/base/error.h"

namespace vig {
namespace {

using test::data_path;
using test::kAsStored;

std::string error_of(const std::string& path, const DecodeOptions& options = {}) {
  try {
    read_image(path, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInput);
    return error.what();
  }
  return "no error";
}

std::string error_of_bytes(std::string_view bytes) {
  try {
    decode_image({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Image read_photo(const std::string& name, const DecodeOptions& options = kAsStored) {
  return read_image(data_path("photos/" + name).string(), options);
}

TEST(Decode, PngSuiteEqualsPillow) {
  int files = 0;
  for (const auto& row : test::read_table(data_path("golden.tsv"))) {
    if (row.at(1) != "decoded") continue;
    SCOPED_TRACE(row[0]);
    const Image image = read_image(data_path(row[0]).string(), kAsStored);
    EXPECT_EQ(image.width, std::stoi(row.at(2)));
    EXPECT_EQ(image.height, std::stoi(row.at(3)));
    EXPECT_EQ(test::hash(image.rgb), std::stoull(row.at(4), nullptr, 16));
    ++files;
  }
  EXPECT_EQ(files, 63);
}

TEST(Decode, ReadsEveryKind) {
  const struct {
    const char* file;
    int width, height;
  } cases[] = {
      {"cat_chelsea.png", 451, 300},
      {"hopper_1bit.png", 500, 500},
      {"flower.webp", 480, 360},
      {"cat_progressive_320x240.jpg", 320, 240},
      {"kitten_gray.jpg", 512, 288},
      {"rocket_strip_640x12.jpg", 640, 12},
      {"pixel_1x1.png", 1, 1},
      {"pixel_1x1.jpg", 1, 1},
      {"logo_cmyk.jpg", 100, 100},
      {"text_cmyk_subsampled.jpg", 256, 256},
      {"hopper_orient6.webp", 128, 128},
      {"squares_animated.webp", 370, 285},
      {"dice_lossy_alpha.webp", 200, 150},
      {"rocket_arithmetic.jpg", 640, 427},
      {"rocket_palette_2bit.png", 255, 170},
      {"rocket_gray_trns.png", 255, 170},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.file);
    const Image image = read_photo(c.file);
    EXPECT_EQ(image.width, c.width);
    EXPECT_EQ(image.height, c.height);
    EXPECT_EQ(image.rgb.size(), image.row_bytes() * static_cast<size_t>(c.height));
    const auto [least, most] = std::minmax_element(image.rgb.begin(), image.rgb.end());
    if (c.width > 1) {
      EXPECT_GT(*most - *least, 50) << "hardly anything in the image";
    }
  }
}

// Chunks of odd length are followed by a byte that does not count.
TEST(Decode, OddChunksOfWebp) {
  const std::vector<uint8_t> plain =
      test::read_bytes(test::data_path("photos/hopper_orient6.webp"));
  constexpr std::string_view kTag = "EXIF";
  const auto exif = std::search(plain.begin(), plain.end(), kTag.begin(), kTag.end());
  ASSERT_NE(exif, plain.end());
  std::vector<uint8_t> bytes(plain.begin(), exif);
  for (const uint8_t byte : {'O', 'D', 'D', ' ', '\3', '\0', '\0', '\0', 'a', 'b', 'c', '\0'}) {
    bytes.push_back(byte);
  }
  bytes.insert(bytes.end(), exif, plain.end());
  const size_t riff = bytes.size() - 8;
  for (size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<uint8_t>(riff >> 8 * i);
  EXPECT_EQ(decode_image(bytes, "x"), decode_image(plain, "x"));
  EXPECT_NE(decode_image(bytes, "x"), decode_image(bytes, "x", {.apply_orientation = false}));
}

// Adobe's inversion undone, paper is white and ink is not.
TEST(Decode, CmykIsInks) {
  const Image text = read_photo("text_cmyk_subsampled.jpg");
  for (int c = 0; c < 3; ++c) EXPECT_GE(text.rgb[c], 250) << c;
  const Image logo = read_photo("logo_cmyk.jpg");
  for (int c = 0; c < 3; ++c) EXPECT_LE(logo.rgb[c], 5) << c;
  const uint8_t* flame = logo.row(63) + 25 * 3;  // #EE4C2C
  EXPECT_NEAR(flame[0], 0xEE, 25);
  EXPECT_NEAR(flame[1], 0x4C, 25);
  EXPECT_NEAR(flame[2], 0x2C, 25);
}

TEST(Decode, GrayHasEqualChannels) {
  for (const char* file : {"kitten_gray.jpg", "rocket_gray_trns.png"}) {
    const Image image = read_photo(file);
    for (size_t i = 0; i < image.rgb.size(); i += 3) {
      ASSERT_EQ(image.rgb[i], image.rgb[i + 1]) << file;
      ASSERT_EQ(image.rgb[i], image.rgb[i + 2]) << file;
    }
  }
}

TEST(Decode, NamesFormatsItDoesNotRead) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string> cases[] = {
      {"8BPS\0\1"sv, "Photoshop"},
      {"\xFF\x0A\0"sv, "JPEG XL"},
      {"\0\0\0\x0CJXL \r"sv, "JPEG XL"},
      {"\0\0\0\x0CjP  \r"sv, "JPEG 2000"},
      {"\x1F\x8B\x08"sv, "gzip"},
      {"%PDF-1.4"sv, "PDF"},
      {"version https://git-lfs.github.com/spec/v1\n"sv, "Git LFS pointer"},
  };
  for (const auto& [bytes, format] : cases) {
    EXPECT_EQ(
        error_of_bytes(bytes),
        "x: a " + format +
            " file; supported images are JPEG, PNG, WebP, TIFF, BMP, GIF, PPM, HEIC and AVIF");
  }
  EXPECT_EQ(error_of_bytes("hello"),
            "x: not an image in a supported format (JPEG, PNG, WebP, TIFF, BMP, GIF, PPM, HEIC and "
            "AVIF); it starts with the bytes 68 65 6c 6c");
  EXPECT_EQ(error_of_bytes(""), "x: the file is empty, expected an image");
}

TEST(Decode, NamesOfImages) {
  for (const char* name :
       {"a.jpg", "b.JPEG", "c.Png", "d.webp", "e.tif", "f.TIFF", "g.bmp", "h.gif", "i.ppm", "j.pgm",
        "k.pbm", "l.pnm", "m.heic", "n.heif", "o.avif", "folder.d/ .jpg"}) {
    EXPECT_TRUE(has_image_extension(name)) << name;
  }
  for (const char* name : {"", ".jpg", "jpg", "a.jpg~", "a.jp", "a.txt", "ajpg", "a.\xaapg"}) {
    EXPECT_FALSE(has_image_extension(name)) << name;
  }
}

// A frame that reached beyond the image would be written behind it.
TEST(Decode, FramesOfWebpLieOnTheirCanvas) {
  const auto whole = test::read_bytes(data_path("photos/squares_animated.webp"));
  constexpr std::string_view kTag = "ANMF";
  const auto frame = std::search(whole.begin(), whole.end(), kTag.begin(), kTag.end());
  ASSERT_NE(frame, whole.end());
  const auto at = static_cast<size_t>(frame - whole.begin()) + 8;
  const auto moved = [&](size_t byte) {
    auto bytes = whole;
    bytes[at + byte] = 0xC0;  // half the distance, which is 384 pixels or far more
    return error_of_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  for (const size_t byte : {0, 1, 2, 3, 4, 5}) {
    EXPECT_NE(moved(byte).find("outside the canvas of 370x285"), std::string::npos) << moved(byte);
  }
}

TEST(Decode, SaysWhyAFileCannotBeRead) {
  const test::TempDir dir;
  EXPECT_EQ(error_of(dir / "none.jpg"),
            (dir / "none.jpg").string() + ": cannot open the image: No such file or directory");
  EXPECT_EQ(error_of(dir.path()), dir.path().string() + ": a directory, expected an image file");
  if (geteuid() != 0) {  // root may read everything
    test::write_file(dir / "secret.png", "x");
    std::filesystem::permissions(dir / "secret.png", std::filesystem::perms::none);
    EXPECT_NE(error_of(dir / "secret.png").find("Permission denied"), std::string::npos);
  }
}

TEST(Decode, RefusesEndlessFiles) {
  EXPECT_NE(error_of("/dev/zero", {.max_pixels = 1}).find("longer than"), std::string::npos);
}

TEST(Decode, RefusesMorePixelsThanAllowed) {
  for (const char* file : {"cat_chelsea.png", "kitten_gray.jpg", "flower.webp"}) {
    const std::string path = data_path(std::string("photos/") + file).string();
    EXPECT_NE(error_of(path, {.max_pixels = 1000}).find("over the limit of 1000 pixels"),
              std::string::npos);
  }
  EXPECT_EQ(error_of(data_path("photos/pixel_1x1.png"), {.max_pixels = 1}), "no error");
}

}  // namespace
}  // namespace vig
