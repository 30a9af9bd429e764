// TIFF files of every kind, written by libtiff.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace vig::test {

struct TiffFormat {
  uint16_t photometric = PHOTOMETRIC_RGB;
  uint16_t samples = 3;
  uint16_t bits = 8;
  uint16_t planar = PLANARCONFIG_CONTIG;
  uint16_t compression = COMPRESSION_NONE;
  uint16_t orientation = 1;
  uint16_t format = SAMPLEFORMAT_UINT;
  bool tiled = false;
  bool alpha = false;
  const char* mode = "w";
  int width = 41, height = 23;
  int tile = 16;   // its side
  int strip = 16;  // rows
};

// `sample(x, y, s)` gives the stored values; `more` sets further tags.
using TiffSample = std::function<int(int x, int y, int s)>;
// Writes one page into an open file.
void write_tiff_page(TIFF* tiff, const TiffFormat& format, const TiffSample& sample,
                     const std::function<void(TIFF*)>& more = {});
std::vector<uint8_t> write_tiff(const TiffFormat& format, const TiffSample& sample,
                                const std::function<void(TIFF*)>& more = {});

}  // namespace vig::test
