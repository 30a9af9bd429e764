// The bytes of an untrusted image file, read in order. Reading past the end throws Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vig/base/error.h"

namespace vig {

class ByteReader {
 public:
  // `name` and `format` stand in error messages and must outlive the reader.
  ByteReader(std::span<const uint8_t> bytes, const std::string& name, std::string_view format)
      : bytes_(bytes), name_(&name), format_(format) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  uint8_t next() const { return bytes_[position_]; }  // not read yet; there must be one

  std::span<const uint8_t> take(uint64_t size) {
    if (size > remaining()) {
      fail("{}: damaged {}: the file ends early, {} bytes are missing", *name_, format_,
           size - remaining());
    }
    position_ += size;
    return bytes_.subspan(position_ - size, size);
  }
  void skip(uint64_t size) { take(size); }

  uint8_t u8() { return take(1)[0]; }
  uint32_t le16() { return static_cast<uint32_t>(little_endian(2)); }
  uint32_t le32() { return static_cast<uint32_t>(little_endian(4)); }
  uint32_t be16() { return static_cast<uint32_t>(big_endian(2)); }
  uint32_t be32() { return static_cast<uint32_t>(big_endian(4)); }
  // Of `size` bytes, 0 to 8.
  uint64_t big_endian(size_t size) {
    uint64_t value = 0;
    for (const uint8_t byte : take(size)) value = value << 8 | byte;
    return value;
  }

 private:
  uint64_t little_endian(size_t size) {
    uint64_t value = 0;
    const auto bytes = take(size);
    for (size_t i = 0; i < size; ++i) value |= uint64_t{bytes[i]} << 8 * i;
    return value;
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  const std::string* name_;
  std::string_view format_;
};

}  // namespace vig
