// PNG files of any kind, made byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vig::test {

struct RawPng {
  uint32_t width = 1, height = 1;
  int bits = 8;
  int color = 0;             // 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGB with alpha
  std::string rows = {};     // packed rows without filter bytes
  std::string palette = {};  // three bytes a colour
};

inline std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  uint32_t crc = 0xffffffff;
  for (const char c : type + data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return big_endian(static_cast<uint32_t>(data.size())) + type + data + big_endian(~crc);
}

// The pixels are stored without compression, in blocks of at most 65535 bytes.
inline std::string raw_png(const RawPng& png) {
  const size_t row_bytes = png.height == 0 ? 0 : png.rows.size() / png.height;
  std::string plain;
  for (size_t y = 0; y < png.height; ++y) {
    plain += '\0' + png.rows.substr(y * row_bytes, row_bytes);
  }
  uint32_t a = 1, b = 0;
  for (const char c : plain) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  std::string packed = "\x78\x01";
  for (size_t at = 0; at == 0 || at < plain.size(); at += 65535) {
    const std::string block = plain.substr(at, 65535);
    const auto size = static_cast<uint16_t>(block.size());
    packed += at + 65535 >= plain.size() ? '\1' : '\0';
    for (const int value : {size & 0xff, size >> 8, ~size & 0xff, ~size >> 8 & 0xff}) {
      packed += static_cast<char>(value);
    }
    packed += block;
  }
  packed += big_endian(b << 16 | a);
  std::string header = big_endian(png.width) + big_endian(png.height);
  for (const int value : {png.bits, png.color, 0, 0, 0}) header += static_cast<char>(value);
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) +
         (png.palette.empty() ? "" : png_chunk("PLTE", png.palette)) + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

// An 8-bit gray one.
inline std::string label_png(uint32_t width, const std::vector<int>& labels) {
  std::string rows;
  for (const int label : labels) rows += static_cast<char>(label);
  return raw_png({.width = width,
                  .height = static_cast<uint32_t>(labels.size()) / width,
                  .rows = std::move(rows)});
}

}  // namespace vig::test
