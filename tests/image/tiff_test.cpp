#include <gtest/gtest.h>
#include <tiffio.h>

#include <string>
#include <vector>

#include "image/fixtures.h"
#include "image/tiff_files.h"
#include "vig/base/error.h"
#include "vig/image/decode.h"
#include "vig/image/exif.h"

namespace vig {
namespace {

using test::write_tiff;
using Kind = test::TiffFormat;

constexpr int kWidth = 41, kHeight = 23;

const Image kImage = test::pattern(kWidth, kHeight);

int colour(int x, int y, int c) { return kImage.row(y)[x * 3 + c]; }

TEST(Tiff, Rgb) {
  for (const uint16_t bits : {8, 16}) {
    for (const uint16_t planar : {PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
      for (const bool tiled : {false, true}) {
        for (const uint16_t compression :
             {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS}) {
          for (const char* mode : {"wl", "wb", "w8"}) {
            Kind kind = {
                .bits = bits, .planar = planar, .compression = compression, .tiled = tiled};
            kind.mode = mode;
            const auto bytes = write_tiff(kind, [&](int x, int y, int c) {
              return bits == 8 ? colour(x, y, c) : colour(x, y, c) << 8 | ((x * 31) & 255);
            });
            EXPECT_EQ(decode_image(bytes, "x"), kImage)
                << bits << " " << planar << " " << tiled << " " << compression << " " << mode;
          }
        }
      }
    }
  }
}

TEST(Tiff, BigTiffOfBothByteOrders) {
  for (const char* mode : {"w8l", "w8b"}) {
    const auto bytes = write_tiff({.bits = 16, .mode = mode},
                                  [](int x, int y, int c) { return colour(x, y, c) << 8; });
    EXPECT_EQ(bytes[0], mode[2] == 'b' ? 'M' : 'I');
    EXPECT_EQ(decode_image(bytes, "x"), kImage) << mode;
  }
}

TEST(Tiff, AlphaIsDroppedWithoutCompositing) {
  for (const uint16_t planar : {PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
    const Kind kind = {.samples = 4, .planar = planar, .alpha = true};
    const auto bytes =
        write_tiff(kind, [](int x, int y, int c) { return c == 3 ? x % 3 : colour(x, y, c); });
    EXPECT_EQ(decode_image(bytes, "x"), kImage);
  }
}

TEST(Tiff, Gray) {
  for (const uint16_t bits : {1, 2, 4, 8, 16}) {
    for (const uint16_t photometric : {PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_MINISWHITE}) {
      const Kind kind = {.photometric = photometric, .samples = 1, .bits = bits};
      const int top = (1 << bits) - 1;
      const auto value = [&](int x, int y) { return (x * 7919 + y * 104729) & top; };
      const auto bytes = write_tiff(kind, [&](int x, int y, int) { return value(x, y); });
      const Image image = decode_image(bytes, "x");
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          const int light = bits == 16 ? value(x, y) >> 8 : value(x, y) * 255 / top;
          const int expected = photometric == PHOTOMETRIC_MINISWHITE ? 255 - light : light;
          for (int c = 0; c < 3; ++c) ASSERT_EQ(image.row(y)[x * 3 + c], expected) << bits;
        }
      }
    }
  }
}

TEST(Tiff, Palette) {
  for (const uint16_t bits : {2, 4, 8}) {
    for (const int scale : {1, 257}) {  // some writers leave the high bytes empty
      const int colours = 1 << bits;
      std::vector<uint16_t> map[3];
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < colours; ++i) {
          map[c].push_back(static_cast<uint16_t>(((i * 83 + c * 50 + 255) % 256) * scale));
        }
      }
      const Kind kind = {.photometric = PHOTOMETRIC_PALETTE, .samples = 1, .bits = bits};
      const auto bytes = write_tiff(
          kind, [&](int x, int y, int) { return (x + y) % colours; },
          [&](TIFF* tiff) {
            TIFFSetField(tiff, TIFFTAG_COLORMAP, map[0].data(), map[1].data(), map[2].data());
          });
      const Image image = decode_image(bytes, "x");
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          for (int c = 0; c < 3; ++c) {
            ASSERT_EQ(image.row(y)[x * 3 + c], map[c][(x + y) % colours] / scale);
          }
        }
      }
    }
  }
}

TEST(Tiff, JpegInside) {
  const Kind kind = {.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_JPEG};
  const auto bytes = write_tiff(
      kind, [](int x, int y, int c) { return c == 0   ? x * 5
                                             : c == 1 ? y * 9
                                                      : 100; },
      [](TIFF* tiff) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 95);
      });
  const Image image = decode_image(bytes, "x");
  EXPECT_NEAR(image.row(10)[30 * 3], 150, 8);
  EXPECT_NEAR(image.row(10)[30 * 3 + 1], 90, 8);
  EXPECT_NEAR(image.row(10)[30 * 3 + 2], 100, 8);
}

TEST(Tiff, CmykByLibtiff) {
  const Kind kind = {.photometric = PHOTOMETRIC_SEPARATED, .samples = 4, .orientation = 6};
  const auto bytes = write_tiff(kind, [](int x, int, int c) { return c == 0 && x > 20 ? 255 : 0; });
  const Image image = decode_image(bytes, "x", test::kAsStored);
  EXPECT_EQ(image.width, kWidth);
  EXPECT_EQ(image.rgb[0], 255);
  const uint8_t* cyan = image.row(0) + 30 * 3;
  EXPECT_EQ(cyan[0], 0);
  EXPECT_EQ(cyan[1], 255);
  EXPECT_EQ(cyan[2], 255);
}

TEST(Tiff, Orientation) {
  for (uint16_t o = 1; o <= 8; ++o) {
    const auto bytes = write_tiff({.orientation = o}, colour);
    EXPECT_EQ(decode_image(bytes, "x", test::kAsStored), kImage);
    EXPECT_EQ(decode_image(bytes, "x"), orient(kImage, o));
  }
}

TEST(Tiff, RefusesWhatItCannotRead) {
  const Kind real = {.photometric = PHOTOMETRIC_MINISBLACK,
                     .samples = 1,
                     .bits = 16,
                     .format = SAMPLEFORMAT_IEEEFP};
  const auto bytes = write_tiff(real, [](int, int, int) { return 0; });
  EXPECT_THROW(decode_image(bytes, "x"), Error);
  EXPECT_THROW(decode_image(write_tiff({}, colour), "x", {.max_pixels = 100}), Error);
}

TEST(Tiff, DamagedFilesRaiseAndPrintNothing) {
  testing::internal::CaptureStderr();
  for (const Kind& kind :
       {Kind{.compression = COMPRESSION_LZW},
        Kind{.bits = 16, .compression = COMPRESSION_ADOBE_DEFLATE, .tiled = true},
        Kind{.planar = PLANARCONFIG_SEPARATE},
        Kind{.photometric = PHOTOMETRIC_YCBCR, .compression = COMPRESSION_JPEG}}) {
    const auto whole = write_tiff(kind, colour, [&](TIFF* tiff) {
      if (kind.compression == COMPRESSION_JPEG) {
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      }
    });
    // The directory stands at the end, so nothing shorter can be whole.
    for (size_t size = 0; size < whole.size() - 4; size += whole.size() / 97 + 1) {
      const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_THROW(decode_image(cut, "x"), Error) << size;
    }
    for (size_t i = 4; i<whole.size(); i += i> whole.size() - 400 ? 1 : 7) {
      for (const uint8_t value : {0x00, 0x01, 0x7F, 0xFF}) {
        auto bad = whole;
        bad[i] = value;
        try {
          decode_image(bad, "x", {.max_pixels = 1 << 20});
        } catch (const Error&) {
        }
      }
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace vig
