#include "image/tiff_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "image/fixtures.h"

namespace vig::test {
namespace {

// Appends `bits` of `value` to a row, 16 bits in native order as libtiff expects.
void put_sample(std::vector<uint8_t>& row, size_t index, int bits, int value) {
  if (bits == 16) {
    const auto wide = static_cast<uint16_t>(value);
    std::memcpy(row.data() + index * 2, &wide, 2);
    return;
  }
  const size_t bit = index * static_cast<size_t>(bits);
  row[bit / 8] |= static_cast<uint8_t>(value << (8 - bits - static_cast<int>(bit % 8)));
}

}  // namespace

void write_tiff_page(TIFF* tiff, const TiffFormat& kind, const TiffSample& sample,
                     const std::function<void(TIFF*)>& more) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, kind.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, kind.height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, kind.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, kind.samples);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, kind.format);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, kind.planar);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, kind.photometric);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, kind.orientation);
  if (kind.alpha) {
    const uint16_t extra = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
  }
  if (more) more(tiff);
  const bool separate = kind.planar == PLANARCONFIG_SEPARATE;
  const int planes = separate ? kind.samples : 1, interleaved = separate ? 1 : kind.samples;
  const auto fill = [&](std::vector<uint8_t>& row, int x0, int width, int y, int plane) {
    std::fill(row.begin(), row.end(), uint8_t{0});
    for (int x = 0; x < width && x0 + x < kind.width; ++x) {
      for (int s = 0; s < interleaved; ++s) {
        put_sample(row, static_cast<size_t>(x * interleaved + s), kind.bits,
                   sample(x0 + x, y, plane + s));
      }
    }
  };
  const int tile_side = kind.tile;
  if (kind.tiled) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, tile_side);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, tile_side);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, kind.strip);
  }
  for (int plane = 0; plane < planes; ++plane) {
    if (!kind.tiled) {
      std::vector<uint8_t> row(static_cast<size_t>(TIFFScanlineSize(tiff)));
      for (int y = 0; y < kind.height; ++y) {
        fill(row, 0, kind.width, y, plane);
        EXPECT_EQ(TIFFWriteScanline(tiff, row.data(), static_cast<uint32_t>(y),
                                    static_cast<uint16_t>(plane)),
                  1);
      }
      continue;
    }
    std::vector<uint8_t> row(static_cast<size_t>(TIFFTileRowSize(tiff)));
    for (int y0 = 0; y0 < kind.height; y0 += tile_side) {
      for (int x0 = 0; x0 < kind.width; x0 += tile_side) {
        std::vector<uint8_t> tile;
        for (int y = y0; y < y0 + tile_side; ++y) {
          fill(row, x0, tile_side, std::min(y, kind.height - 1), plane);
          tile.insert(tile.end(), row.begin(), row.end());
        }
        EXPECT_GT(TIFFWriteTile(tiff, tile.data(), static_cast<uint32_t>(x0),
                                static_cast<uint32_t>(y0), 0, static_cast<uint16_t>(plane)),
                  0);
      }
    }
  }
}

std::vector<uint8_t> write_tiff(const TiffFormat& format, const TiffSample& sample,
                                const std::function<void(TIFF*)>& more) {
  const TempDir dir;
  const std::string path = dir / "x.tif";
  TIFF* tiff = TIFFOpen(path.c_str(), format.mode);
  write_tiff_page(tiff, format, sample, more);
  TIFFClose(tiff);
  return read_bytes(path);
}

}  // namespace vig::test
