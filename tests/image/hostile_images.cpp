#include "image/hostile_images.h"

#include <cstddef>
#include <cstdio>
// jpeglib.h uses size_t and FILE without including them.
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace vig::test {
namespace {

void append(Bytes& bytes, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

}  // namespace

Bytes hostile_jpeg(const HostileJpeg& jpeg) {
  jpeg_compress_struct cinfo = {};
  jpeg_error_mgr errors = {};
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &memory, &size);
  cinfo.image_width = static_cast<JDIMENSION>(jpeg.width);
  cinfo.image_height = static_cast<JDIMENSION>(jpeg.height);
  cinfo.input_components = jpeg.channels;
  cinfo.in_color_space = jpeg.channels == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  for (int c = 0; c < jpeg.channels; ++c) {
    cinfo.comp_info[c].h_samp_factor = cinfo.comp_info[c].v_samp_factor = 1;
  }
  cinfo.arith_code = jpeg.arithmetic ? TRUE : FALSE;
  std::vector<jpeg_scan_info> scans;
  if (jpeg.progressive) {
    scans.push_back({jpeg.channels, {0, 1, 2, 3}, 0, 0, 0, 0});
    for (int low = jpeg.refinements; low >= 0; --low) {
      const int high = low == jpeg.refinements ? 0 : low + 1;
      for (int c = 0; c < jpeg.channels; ++c) scans.push_back({1, {c}, 1, 63, high, low});
    }
    cinfo.scan_info = scans.data();
    cinfo.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&cinfo, TRUE);
  Bytes row(static_cast<size_t>(jpeg.width * jpeg.channels), 128);
  for (JSAMPROW at = row.data(); cinfo.next_scanline < cinfo.image_height;) {
    jpeg_write_scanlines(&cinfo, &at, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  const Bytes bytes(memory, memory + size);
  std::free(memory);
  return bytes;
}

Bytes with_segments(const Bytes& jpeg, const Bytes& segments) {
  Bytes result = jpeg;
  result.insert(result.begin() + 2, segments.begin(), segments.end());
  return result;
}

Bytes jpeg_segment(uint8_t marker, const std::string& data) {
  const size_t length = data.size() + 2;
  Bytes bytes;
  bytes.reserve(data.size() + 4);
  for (const size_t byte : {size_t{0xFF}, size_t{marker}, length >> 8, length})
    append(bytes, byte, 1);
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string exif_data(uint8_t orientation) {
  const char tiff[] = {'E',
                       'x',
                       'i',
                       'f',
                       0,
                       0,
                       'I',
                       'I',
                       '*',
                       0,
                       8,
                       0,
                       0,
                       0,
                       1,
                       0,  // entries
                       0x12,
                       1,
                       3,
                       0,
                       1,
                       0,
                       0,
                       0,  // orientation, one short
                       static_cast<char>(orientation),
                       0,
                       0,
                       0,
                       0,
                       0,
                       0,
                       0};
  return {tiff, sizeof(tiff)};
}

Bytes hostile_tiff(const HostileTiff& tiff) {
  constexpr uint16_t kShort = 3, kLong = 4, kByte = 1;
  const bool tiled = tiff.tile_width > 0;
  const uint32_t rows = tiff.rows > 0 ? tiff.rows : tiff.height;
  const auto pieces = [](uint32_t side, uint32_t piece) { return (side + piece - 1) / piece; };
  const uint32_t count =
      tiled ? pieces(tiff.width, tiff.tile_width) * pieces(tiff.height, tiff.tile_height)
            : pieces(tiff.height, rows);
  Bytes bytes(8 + tiff.data.size());
  bytes[0] = bytes[1] = 'I';
  bytes[2] = '*';
  std::ranges::copy(tiff.data, bytes.begin() + 8);

  struct Tag {
    uint16_t number, type;
    uint32_t count, value;
  };
  std::vector<Tag> tags;
  const auto array = [&](uint16_t number, uint16_t type, uint32_t values, uint32_t each) {
    const int width = type == kShort ? 2 : 4;
    if (values * static_cast<uint32_t>(width) <= 4) {
      tags.push_back({number, type, values, values == 2 ? each | each << 16 : each});
      return;
    }
    tags.push_back({number, type, values, static_cast<uint32_t>(bytes.size())});
    for (uint32_t i = 0; i < values; ++i) append(bytes, each, width);
  };
  const uint32_t size =
      tiff.data_size > 0 ? tiff.data_size : static_cast<uint32_t>(tiff.data.size());
  array(256, kLong, 1, tiff.width);
  array(257, kLong, 1, tiff.height);
  array(258, kShort, tiff.samples, tiff.bits);
  array(259, kShort, 1, tiff.compression);
  array(262, kShort, 1, tiff.photometric);
  if (!tiled) array(273, kLong, count, 8);
  array(277, kShort, 1, tiff.samples);
  if (!tiled) array(278, kLong, 1, rows);
  if (!tiled) array(279, kLong, count, size);
  if (tiled) {
    array(322, kLong, 1, tiff.tile_width);
    array(323, kLong, 1, tiff.tile_height);
    array(324, kLong, count, 8);
    array(325, kLong, count, size);
  }
  for (uint16_t i = 0; i < tiff.more_tags; ++i) {
    tags.push_back({static_cast<uint16_t>(40000 + i), kByte, tiff.tag_bytes, 8});
  }
  const size_t directory = bytes.size();
  for (int i = 0; i < 4; ++i)
    bytes[4 + static_cast<size_t>(i)] = static_cast<uint8_t>(directory >> (8 * i));
  append(bytes, tags.size(), 2);
  for (const Tag& tag : tags) {
    append(bytes, tag.number, 2);
    append(bytes, tag.type, 2);
    append(bytes, tag.count, 4);
    append(bytes, tag.value, 4);
  }
  append(bytes, 0, 4);
  return bytes;
}

Bytes png_of_zeros(uint32_t width, uint32_t height, uint8_t bits, uint8_t colour) {
  Bytes bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp writer, png_bytep data, size_t size) {
        auto& out = *static_cast<Bytes*>(png_get_io_ptr(writer));
        out.insert(out.end(), data, data + size);
      },
      nullptr);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(png, info, width, height, bits, colour, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const Bytes row(static_cast<size_t>(width) * 8);
  for (uint32_t y = 0; y < height; ++y) png_write_row(png, row.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

Bytes webp_image(int width, int height, bool lossless) {
  // Noise in the corner keeps the codes from being trivial.
  Bytes rgb(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 100);
  for (size_t i = 0; i < std::min<size_t>(rgb.size(), 3000); ++i) {
    rgb[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  }
  uint8_t* out = nullptr;
  const size_t size = lossless ? WebPEncodeLosslessRGB(rgb.data(), width, height, width * 3, &out)
                               : WebPEncodeRGB(rgb.data(), width, height, width * 3, 50, &out);
  const Bytes bytes(out, out + size);
  WebPFree(out);
  return bytes;
}

}  // namespace vig::test
