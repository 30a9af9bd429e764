#include "vig/image/tiff_tags.h"

#include <array>

#include "vig/base/error.h"

namespace vig {
namespace {

// Bytes of one value by the type's number; 0 for types that do not exist.
constexpr std::array<uint64_t, 19> kTypeBytes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                                 8, 4, 8, 4, 0, 0, 8, 8, 8};

class TagReader {
 public:
  explicit TagReader(std::span<const uint8_t> bytes)
      : bytes_(bytes), big_endian_(bytes[0] == 'M'), big_(number(2, 2) == 43) {}

  uint64_t value_bytes() const {
    const uint64_t directory = big_ ? number(8, 8) : number(4, 4);
    const uint64_t count = number(directory, big_ ? 8 : 2);
    const uint64_t entry_bytes = big_ ? 20 : 12, word = big_ ? 8 : 4;
    uint64_t total = 0;
    uint64_t at = directory + (big_ ? 8 : 2);
    for (uint64_t i = 0; i < count && inside(at, entry_bytes); ++i, at += entry_bytes) {
      const uint64_t type = number(at + 2, 2), values = number(at + 4, word);
      const uint64_t each = type < kTypeBytes.size() ? kTypeBytes[type] : 0;
      // More values than the file has bytes are refused by libtiff.
      if (each == 0 || values > bytes_.size() / each || values * each <= word) continue;
      total += values * each;
    }
    return total;
  }

 private:
  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  // 0 outside of the file.
  uint64_t number(uint64_t offset, uint64_t size) const {
    if (!inside(offset, size)) return 0;
    uint64_t value = 0;
    for (uint64_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[offset + (big_endian_ ? i : size - 1 - i)];
    }
    return value;
  }

  std::span<const uint8_t> bytes_;
  bool big_endian_;
  bool big_;  // BigTIFF: 64-bit offsets
};

}  // namespace

void check_tiff_tags(std::span<const uint8_t> bytes, const std::string& name) {
  constexpr uint64_t kShared = uint64_t{1}
                               << 16;  // values that some writers store once for two tags
  const uint64_t total = TagReader(bytes).value_bytes();
  if (total > bytes.size() + kShared) {
    fail("{}: damaged TIFF: tags of {} bytes in a file of {}", name, total, bytes.size());
  }
}

}  // namespace vig
