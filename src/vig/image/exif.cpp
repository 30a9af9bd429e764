#include "vig/image/exif.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace vig {
namespace {

constexpr uint16_t kOrientationTag = 0x0112;
constexpr uint16_t kTypeShort = 3, kTypeLong = 4;

// Integers of either byte order at checked offsets. Reading outside gives 0 and clears `ok`.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t u16(uint64_t offset) { return read(offset, 2); }
  uint32_t u32(uint64_t offset) { return read(offset, 4); }
  bool ok() const { return ok_; }

 private:
  uint32_t read(uint64_t offset, uint64_t size) {
    if (offset + size > bytes_.size()) {
      ok_ = false;
      return 0;
    }
    uint32_t value = 0;
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t digit = big_endian_ ? i : size - 1 - i;
      value = value << 8 | bytes_[offset + digit];
    }
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool big_endian_;
  bool ok_ = true;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> exif) {
  using namespace std::string_view_literals;
  const auto starts_with = [&](std::string_view prefix) {
    return exif.size() >= prefix.size() &&
           std::memcmp(exif.data(), prefix.data(), prefix.size()) == 0;
  };
  if (starts_with("Exif\0\0"sv)) exif = exif.subspan(6);
  const bool little = starts_with("II*\0"sv), big = starts_with("MM\0*"sv);
  if (!little && !big) return 1;

  Reader reader(exif, big);
  const uint64_t directory = reader.u32(4);
  const uint32_t entries = reader.u16(directory);
  for (uint32_t i = 0; i < entries && reader.ok(); ++i) {
    const uint64_t entry = directory + 2 + uint64_t{12} * i;
    if (reader.u16(entry) != kOrientationTag) continue;
    const uint32_t type = reader.u16(entry + 2);
    const uint32_t count = reader.u32(entry + 4);
    if (count != 1 || (type != kTypeShort && type != kTypeLong)) return 1;
    const uint32_t value = type == kTypeShort ? reader.u16(entry + 8) : reader.u32(entry + 8);
    return reader.ok() && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image orient(Image stored, int orientation) {
  if (orientation <= 1 || orientation > 8) return stored;
  // From 5 on, the stored row is the shown column. Besides, either stored axis may run backwards.
  const bool exchange = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image shown(exchange ? stored.height : stored.width, exchange ? stored.width : stored.height);

  const auto stride_x = static_cast<ptrdiff_t>(from_right ? -3 : 3);
  const auto stride_y = static_cast<ptrdiff_t>(stored.row_bytes()) * (from_bottom ? -1 : 1);
  const uint8_t* origin = stored.rgb.data() +
                          (from_right ? static_cast<ptrdiff_t>(stored.row_bytes()) - 3 : 0) +
                          (from_bottom ? (stored.height - 1) * -stride_y : 0);
  const ptrdiff_t along_x = exchange ? stride_y : stride_x,
                  along_y = exchange ? stride_x : stride_y;

  // In tiles, so that exchanged axes do not miss the cache at every pixel.
  constexpr int kTile = 64;
  for (int y0 = 0; y0 < shown.height; y0 += kTile) {
    for (int x0 = 0; x0 < shown.width; x0 += kTile) {
      const int y1 = std::min(y0 + kTile, shown.height), x1 = std::min(x0 + kTile, shown.width);
      for (int y = y0; y < y1; ++y) {
        const uint8_t* from = origin + y * along_y + x0 * along_x;
        uint8_t* to = shown.row(y) + x0 * 3;
        for (int x = 0; x < x1 - x0; ++x) std::copy_n(from + x * along_x, 3, to + x * 3);
      }
    }
  }
  return shown;
}

}  // namespace vig
