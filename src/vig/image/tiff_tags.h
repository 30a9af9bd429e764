// The tags of a TIFF file, read without libtiff: it copies every value that it meets, and only then
// can be asked about them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vig/image/file_bytes.h"

namespace vig {

// How numbers are written in a file, from its first bytes.
struct TiffKind {
  bool big_endian = false;
  bool big = false;    // BigTIFF: 64-bit offsets
  uint64_t first = 0;  // offset of the first directory

  explicit TiffKind(const FileBytes& file);
};

// One directory. Whatever cannot be followed is absent.
class TiffTags {
 public:
  static constexpr uint64_t kMaxTags = 1 << 16;  // further ones are ignored; libtiff refuses them

  TiffTags(const FileBytes& file, const TiffKind& kind, uint64_t offset);

  uint64_t offset() const { return offset_; }
  uint64_t next() const { return next_; }  // the next directory, or 0
  uint64_t count(uint16_t tag) const;      // of values inside the file
  // Bytes of all values outside of the entries, and the most of one tag beside strip and tile
  // tables.
  uint64_t value_bytes() const;
  uint64_t largest_value() const;

  // The first `most` values.
  std::vector<uint64_t> integers(uint16_t tag, uint64_t most) const;
  std::vector<double> numbers(uint16_t tag, uint64_t most) const;
  std::string text(uint16_t tag, uint64_t most) const;
  uint64_t integer(uint16_t tag, uint64_t otherwise) const;

 private:
  struct Entry {
    uint16_t tag, type;
    uint64_t count;
    uint64_t at;  // offset of the values
  };
  uint64_t number(const uint8_t* bytes, uint64_t size) const;
  const Entry* find(uint16_t tag) const;
  std::vector<uint8_t> values(const Entry& entry, uint64_t most) const;

  const FileBytes& file_;
  TiffKind kind_;
  uint64_t offset_;
  uint64_t next_ = 0;
  std::vector<Entry> entries_;
};

// Throws Error when the values of a directory's tags take more bytes than the file has: thousands
// of tags may name the same bytes. What cannot be followed is left for libtiff to complain about.
void check_tiff_tags(const TiffTags& tags, uint64_t file_bytes, const std::string& name);
// The first directory of a file in memory.
void check_tiff_tags(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace vig
