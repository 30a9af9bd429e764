// TIFF by libtiff, from memory, the first page.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "vig/base/error.h"
#include "vig/image/file_bytes.h"
#include "vig/image/formats.h"
#include "vig/image/tiff_page.h"
#include "vig/image/tiff_tags.h"

namespace vig {
namespace {

// Room for a strip or tile that holds the whole image as four 16-bit channels.
int64_t tiff_room(const DecodeOptions& options) {
  return std::clamp<int64_t>(options.max_pixels, 1 << 20, int64_t{1} << 40) * 8;
}

class TiffDecoder : public ImageDecoder {
 public:
  TiffDecoder(std::span<const uint8_t> bytes, const std::string& name, const DecodeOptions& options)
      : bytes_(bytes),
        file_((check_tiff_tags(bytes, name), memory_bytes(bytes))),
        name_(name),
        options_(options),
        room_(tiff_room(options)),
        page_(file_, name_, room_) {
    check_size(name_, page_.width(), page_.height(), options_);
    header_ = {.width = static_cast<int>(page_.width()),
               .height = static_cast<int>(page_.height()),
               .orientation = page_.orientation()};
    const Pieces pieces = find_pieces();
    check_work(pieces);
    header_.working_bytes = working_bytes(pieces);
  }

  Image decode() override {
    errno = 0;
    if (!page_.plain()) return page_.read_converted(0, 0, header_.width, header_.height);
    Image image(header_.width, header_.height);
    if (page_.tiled()) {
      read_tiles(image);
    } else {
      read_rows(image);
    }
    return image;
  }

 private:
  // Strips or tiles, of which libtiff decodes each as a whole.
  struct Pieces {
    uint64_t count;
    uint64_t bytes;  // of each, decoded
  };

  Pieces find_pieces() {
    const uint64_t planes = page_.separate() ? page_.samples() : 1;
    if (!page_.tiled()) {
      return {TIFFNumberOfStrips(page_.tiff()), static_cast<uint64_t>(TIFFStripSize(page_.tiff()))};
    }
    const int64_t tile_width = page_.tile_width(), tile_height = page_.tile_height();
    check_size(name_, tile_width, tile_height, options_);
    const auto across = [](uint64_t side, int64_t tile) {
      return (side + static_cast<uint64_t>(tile) - 1) / static_cast<uint64_t>(tile);
    };
    return {across(static_cast<uint64_t>(header_.width), tile_width) *
                across(static_cast<uint64_t>(header_.height), tile_height) * planes,
            static_cast<uint64_t>(TIFFTileSize(page_.tiff()))};
  }

  // Tiles may be larger than the image, and all may share the same bytes of the file, so neither
  // its size nor the image's bounds the work.
  void check_work(const Pieces& pieces) {
    const uint64_t pixels =
        static_cast<uint64_t>(header_.width) * static_cast<uint64_t>(header_.height);
    const uint64_t own = (pixels * page_.samples() * page_.bits() + 7) / 8;
    // Four times for tiles that reach beyond the image's edges; in all, as four 16-bit channels.
    constexpr uint64_t kPadding = uint64_t{64} << 20;
    const uint64_t most = std::min(own * 4, static_cast<uint64_t>(room_)) + kPadding;
    if (pieces.bytes == 0 || pieces.bytes > most || pieces.count > most / pieces.bytes) {
      fail(
          "{}: a TIFF of {} strips or tiles of {} bytes, expected at most {} bytes in all for an "
          "image of {}x{} pixels ({})",
          name_, pieces.count, pieces.bytes, most, header_.width, header_.height,
          own * 4 > static_cast<uint64_t>(room_) ? "raise it with --max-pixels" : "a fixed limit");
    }
    const uint64_t most_pieces = (uint64_t{1} << 16) + pixels / 1024;
    if (pieces.count > most_pieces) {
      fail(
          "{}: a TIFF of {} strips or tiles, expected at most {} for an image of {}x{} pixels (a "
          "fixed limit)",
          name_, pieces.count, most_pieces, header_.width, header_.height);
    }
    constexpr uint64_t kShared = uint64_t{16} << 20;
    uint64_t packed = 0;
    for (uint32_t i = 0; i < pieces.count; ++i) {
      const uint64_t offset =
          std::min<uint64_t>(TIFFGetStrileOffset(page_.tiff(), i), bytes_.size());
      const uint64_t size =
          std::min<uint64_t>(TIFFGetStrileByteCount(page_.tiff(), i), bytes_.size() - offset);
      packed += size;
      if (packed > bytes_.size() * 2 + kShared) {
        fail("{}: damaged TIFF: its strips or tiles overlap", name_);
      }
      if (page_.compression() == COMPRESSION_JPEG) page_.check_jpeg(bytes_.subspan(offset, size));
    }
  }

  // Beside the image: the file's bytes of one piece, the piece decoded unless it is read row by
  // row, and what its decoder keeps of it; where libtiff converts, also its own image of 4 bytes
  // per pixel and the pieces of other planes.
  uint64_t working_bytes(const Pieces& pieces) {
    constexpr uint64_t kFixed = uint64_t{4} << 20;
    // Above this libtiff refuses the coefficients of a JPEG of several scans.
    constexpr uint64_t kCoefficients = 100'000'000;
    const uint64_t pixels =
        static_cast<uint64_t>(header_.width) * static_cast<uint64_t>(header_.height);
    const uint64_t planes =
        page_.separate() && !page_.plain() ? std::min<uint64_t>(page_.samples(), 4) : 1;
    const bool by_row = page_.plain() && !page_.tiled();
    uint64_t bytes = kFixed + bytes_.size();
    bytes +=
        by_row ? static_cast<uint64_t>(TIFFScanlineSize(page_.tiff())) * 4 : pieces.bytes * planes;
    if (!page_.plain()) bytes += pixels * 4;
    if (page_.compression() == COMPRESSION_JPEG) bytes += std::min(kCoefficients, pieces.bytes * 2);
    if (page_.compression() == COMPRESSION_WEBP) bytes += pieces.bytes * 3;
    const bool window =
        page_.compression() == COMPRESSION_LZMA || page_.compression() == COMPRESSION_ZSTD;
    return bytes + (window ? pieces.bytes : 0);
  }

  void read_rows(Image& image) {
    std::vector<uint8_t> line(static_cast<size_t>(TIFFScanlineSize(page_.tiff())));
    if (line.size() < page_.row_bytes(image.width)) page_.damaged("rows are too short");
    for (int plane = 0; plane < page_.planes(); ++plane) {
      for (int y = 0; y < image.height; ++y) {
        if (TIFFReadScanline(page_.tiff(), line.data(), static_cast<uint32_t>(y),
                             static_cast<uint16_t>(plane)) != 1) {
          page_.damaged("pixels cannot be read");
        }
        page_.put_row(line.data(), image.width, plane, image.row(y));
      }
    }
  }

  void read_tiles(Image& image) {
    const int64_t tile_width = page_.tile_width(), tile_height = page_.tile_height();
    const size_t row_bytes = page_.row_bytes(tile_width);
    const tmsize_t tile_bytes = TIFFTileSize(page_.tiff());
    if (tile_bytes <= 0 || static_cast<size_t>(tile_bytes) < row_bytes * tile_height) {
      page_.damaged("tiles are too small");
    }
    std::vector<uint8_t> tile(static_cast<size_t>(tile_bytes));
    for (int plane = 0; plane < page_.planes(); ++plane) {
      for (int64_t y = 0; y < image.height; y += tile_height) {
        for (int64_t x = 0; x < image.width; x += tile_width) {
          if (TIFFReadTile(page_.tiff(), tile.data(), static_cast<uint32_t>(x),
                           static_cast<uint32_t>(y), 0, static_cast<uint16_t>(plane)) < 0) {
            page_.damaged("pixels cannot be read");
          }
          const int64_t columns = std::min(tile_width, image.width - x);
          const int64_t rows = std::min(tile_height, image.height - y);
          for (int64_t row = 0; row < rows; ++row) {
            page_.put_row(tile.data() + row * row_bytes, columns, plane,
                          image.row(static_cast<int>(y + row)) + x * 3);
          }
        }
      }
    }
  }

  std::span<const uint8_t> bytes_;
  FileBytes file_;
  const std::string& name_;
  const DecodeOptions& options_;
  int64_t room_;  // the most one allocation may take
  TiffPage page_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_tiff(std::span<const uint8_t> bytes, const std::string& name,
                                        const DecodeOptions& options) {
  return std::make_unique<TiffDecoder>(bytes, name, options);
}

}  // namespace vig
