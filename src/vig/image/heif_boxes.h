// The boxes of an HEIF file (ISO/IEC 14496-12 and 23008-12) as tables: what items there are, where
// their data is, which properties they have. Every list of the file is read once, and its length is
// bounded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vig/image/byte_reader.h"

namespace vig {

constexpr uint32_t box_tag(const char (&name)[5]) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(name[i]);
  return value;
}

struct HeifBox {
  uint32_t type = 0;
  std::span<const uint8_t> contents;
};

class HeifBoxes {
 public:
  // Spans point into `bytes`. Throws Error naming `name`.
  HeifBoxes(std::span<const uint8_t> bytes, const std::string& name);

  size_t file_bytes() const { return bytes_.size(); }
  uint32_t primary() const { return primary_; }
  // These throw Error where the file does not say.
  uint32_t item_type(uint32_t id) const;
  std::vector<HeifBox> properties_of(uint32_t id) const;
  std::vector<std::span<const uint8_t>> item_data(uint32_t id) const;
  // The items that item `id` is made of.
  std::vector<uint32_t> sources_of(uint32_t id) const;

  [[noreturn]] void damaged(std::string_view what) const;
  ByteReader reader(std::span<const uint8_t> bytes) const;
  // Boxes with a version begin with it and three bytes of flags.
  static uint32_t version(ByteReader& in);

 private:
  // Where an item's data is: a list of extents that is read when the item is needed, since a
  // hostile file may hold many long lists.
  struct Location {
    uint32_t method = 0;  // 0: in the file, 1: in the box idat
    uint64_t base = 0;
    uint32_t extents = 0;
    size_t index_size = 0, offset_size = 0, length_size = 0;
    std::span<const uint8_t> list;
  };
  // An item's properties: numbers of one or two bytes, whose highest bit is a flag of its own.
  struct Associations {
    uint32_t count = 0;
    bool wide = false;
    std::span<const uint8_t> list;
  };

  HeifBox next_box(ByteReader& in) const;
  void read_meta(std::span<const uint8_t> contents);
  void read_types(ByteReader& in);
  void read_locations(ByteReader& in);
  void read_properties(ByteReader& in);
  void read_associations(ByteReader& in);
  template <typename Value>
  void add(std::unordered_map<uint32_t, Value>& table, uint32_t id, const Value& value) const;

  std::span<const uint8_t> bytes_;
  const std::string& name_;
  uint32_t primary_ = 0;
  std::unordered_map<uint32_t, uint32_t> types_;
  std::unordered_map<uint32_t, Location> locations_;
  std::unordered_map<uint32_t, Associations> associations_;
  std::vector<HeifBox> properties_;
  std::span<const uint8_t> references_, idat_;
};

}  // namespace vig
