// Image files made to cost time or memory, small themselves.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vig::test {

using Bytes = std::vector<uint8_t>;

struct HostileJpeg {
  int width = 8, height = 8;
  int channels = 3;  // 4: CMYK
  bool progressive = false;
  bool arithmetic = false;
  int refinements = 0;  // passes over all coefficients beside the first; up to 10
};
Bytes hostile_jpeg(const HostileJpeg& jpeg);

// The JPEG with something inserted behind its first two bytes.
Bytes with_segments(const Bytes& jpeg, const Bytes& segments);
Bytes jpeg_segment(uint8_t marker, const std::string& data);
// The content of an EXIF segment with this orientation.
std::string exif_data(uint8_t orientation);

// A TIFF whose strips or tiles all are the same bytes of the file.
struct HostileTiff {
  uint32_t width = 16, height = 16;
  uint16_t samples = 1, bits = 8;
  uint16_t photometric = 1;                  // 2: RGB, 5: CMYK
  uint16_t compression = 1;                  // none
  uint32_t tile_width = 0, tile_height = 0;  // 0: strips
  uint32_t rows = 0;                         // of a strip; 0: all
  std::string data = {};                     // of each strip or tile
  uint32_t data_size = 0;                    // claimed; 0: that of the data
  // Tags beside the necessary ones, all with the same value of so many bytes.
  uint16_t more_tags = 0;
  uint32_t tag_bytes = 0;
};
Bytes hostile_tiff(const HostileTiff& tiff);

Bytes png_of_zeros(uint32_t width, uint32_t height, uint8_t bits, uint8_t colour);
Bytes webp_image(int width, int height, bool lossless);

}  // namespace vig::test
