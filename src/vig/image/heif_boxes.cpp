#include "vig/image/heif_boxes.h"

#include <fmt/format.h>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr std::string_view kFormat = "HEIC or AVIF";
// Telephones write a few hundred.
constexpr size_t kMaxItems = 10000;

}  // namespace

HeifBoxes::HeifBoxes(std::span<const uint8_t> bytes, const std::string& name)
    : bytes_(bytes), name_(name) {
  ByteReader in = reader(bytes);
  while (in.remaining() > 0) {
    const HeifBox box = next_box(in);
    if (box.type != box_tag("meta")) continue;
    read_meta(box.contents);
    return;
  }
  damaged("there is no box meta");
}

void HeifBoxes::damaged(std::string_view what) const {
  fail("{}: damaged {}: {}", name_, kFormat, what);
}

ByteReader HeifBoxes::reader(std::span<const uint8_t> bytes) const {
  return {bytes, name_, kFormat};
}

// The first mention of an item counts.
template <typename Value>
void HeifBoxes::add(std::unordered_map<uint32_t, Value>& table, uint32_t id,
                    const Value& value) const {
  table.emplace(id, value);
  if (table.size() > kMaxItems)
    damaged(fmt::format("more than {} items (a fixed limit)", kMaxItems));
}

HeifBox HeifBoxes::next_box(ByteReader& in) const {
  const size_t start = in.position();
  uint64_t size = in.be32();
  HeifBox box;
  box.type = in.be32();
  if (size == 1) size = in.big_endian(8);
  const size_t header = in.position() - start;
  if (size == 0) size = header + in.remaining();
  if (size < header) damaged(fmt::format("a box of {} bytes", size));
  box.contents = in.take(size - header);
  return box;
}

uint32_t HeifBoxes::version(ByteReader& in) {
  const uint32_t version = in.u8();
  in.skip(3);
  return version;
}

void HeifBoxes::read_meta(std::span<const uint8_t> contents) {
  ByteReader in = reader(contents);
  version(in);
  bool has_primary = false;
  while (in.remaining() > 0) {
    const HeifBox box = next_box(in);
    ByteReader inside = reader(box.contents);
    switch (box.type) {
      case box_tag("pitm"):
        primary_ = static_cast<uint32_t>(inside.big_endian(version(inside) == 0 ? 2 : 4));
        has_primary = true;
        break;
      case box_tag("iinf"):
        read_types(inside);
        break;
      case box_tag("iloc"):
        read_locations(inside);
        break;
      case box_tag("iprp"):
        read_properties(inside);
        break;
      case box_tag("iref"):
        references_ = box.contents;
        break;
      case box_tag("idat"):
        idat_ = box.contents;
        break;
      default:
        break;
    }
  }
  if (!has_primary) damaged("no primary image is named");
}

void HeifBoxes::read_types(ByteReader& in) {
  in.skip(version(in) == 0 ? 2 : 4);  // number of items
  while (in.remaining() > 0) {
    const HeifBox box = next_box(in);
    ByteReader inside = reader(box.contents);
    const uint32_t entry_version = version(inside);
    if (box.type != box_tag("infe") || entry_version < 2) continue;
    const auto id = static_cast<uint32_t>(inside.big_endian(entry_version == 2 ? 2 : 4));
    inside.skip(2);  // protection
    add(types_, id, inside.be32());
  }
}

void HeifBoxes::read_locations(ByteReader& in) {
  const uint32_t box_version = version(in);
  if (box_version > 2) damaged(fmt::format("a box iloc of version {}", box_version));
  const uint32_t sizes = in.be16();
  Location location;
  location.offset_size = sizes >> 12;
  location.length_size = sizes >> 8 & 15;
  const size_t base_size = sizes >> 4 & 15;
  location.index_size = box_version > 0 ? sizes & 15 : 0;
  for (const size_t size :
       {location.offset_size, location.length_size, base_size, location.index_size}) {
    if (size != 0 && size != 4 && size != 8) {
      damaged(fmt::format("positions of {} bytes", size));
    }
  }
  const size_t id_size = box_version < 2 ? 2 : 4;
  const uint64_t items = in.big_endian(id_size);
  for (uint64_t i = 0; i < items; ++i) {
    const auto id = static_cast<uint32_t>(in.big_endian(id_size));
    location.method = box_version > 0 ? in.be16() & 15 : 0;
    in.skip(2);  // other files are not supported: their number
    location.base = in.big_endian(base_size);
    location.extents = in.be16();
    location.list = in.take(uint64_t{location.extents} *
                            (location.index_size + location.offset_size + location.length_size));
    add(locations_, id, location);
  }
}

void HeifBoxes::read_properties(ByteReader& in) {
  while (in.remaining() > 0) {
    const HeifBox box = next_box(in);
    ByteReader inside = reader(box.contents);
    if (box.type == box_tag("ipco")) {
      while (inside.remaining() > 0) {
        properties_.push_back(next_box(inside));
        if (properties_.size() > kMaxItems)
          damaged(fmt::format("more than {} properties (a fixed limit)", kMaxItems));
      }
    } else if (box.type == box_tag("ipma")) {
      read_associations(inside);
    }
  }
}

void HeifBoxes::read_associations(ByteReader& in) {
  const uint32_t box_version = in.u8();
  const auto flags = static_cast<uint32_t>(in.big_endian(3));
  const uint32_t items = in.be32();
  for (uint32_t i = 0; i < items; ++i) {
    const auto id = static_cast<uint32_t>(in.big_endian(box_version == 0 ? 2 : 4));
    Associations associations;
    associations.count = in.u8();
    associations.wide = (flags & 1) != 0;
    associations.list = in.take(uint64_t{associations.count} * (associations.wide ? 2 : 1));
    add(associations_, id, associations);
  }
}

uint32_t HeifBoxes::item_type(uint32_t id) const {
  const auto found = types_.find(id);
  if (found == types_.end()) damaged(fmt::format("item {} is missing", id));
  return found->second;
}

std::vector<HeifBox> HeifBoxes::properties_of(uint32_t id) const {
  std::vector<HeifBox> boxes;
  const auto found = associations_.find(id);
  if (found == associations_.end()) return boxes;
  ByteReader in = reader(found->second.list);
  for (uint32_t i = 0; i < found->second.count; ++i) {
    const uint32_t number = found->second.wide ? in.be16() & 0x7FFF : in.u8() & 0x7F;
    if (number == 0) continue;
    if (number > properties_.size()) damaged(fmt::format("property {} is missing", number));
    boxes.push_back(properties_[number - 1]);
  }
  return boxes;
}

std::vector<std::span<const uint8_t>> HeifBoxes::item_data(uint32_t id) const {
  const auto found = locations_.find(id);
  if (found == locations_.end()) damaged(fmt::format("the data of item {} is missing", id));
  const Location& location = found->second;
  if (location.method > 1) {
    fail("{}: the data of item {} is inside another item, which is not supported", name_, id);
  }
  const std::span<const uint8_t> source = location.method == 0 ? bytes_ : idat_;
  ByteReader in = reader(location.list);
  std::vector<std::span<const uint8_t>> parts;
  uint64_t total = 0;
  for (uint32_t i = 0; i < location.extents; ++i) {
    in.skip(location.index_size);
    const uint64_t offset = in.big_endian(location.offset_size);
    uint64_t length = in.big_endian(location.length_size);
    const uint64_t size = source.size();
    if (location.base > size || offset > size - location.base ||
        length > size - location.base - offset) {
      damaged(fmt::format("the data of item {} ends after the file", id));
    }
    const uint64_t start = location.base + offset;
    if (length == 0) length = size - start;
    total += length;
    if (total > size) damaged(fmt::format("the data of item {} overlaps itself", id));
    parts.push_back(source.subspan(start, length));
  }
  return parts;
}

std::vector<uint32_t> HeifBoxes::sources_of(uint32_t id) const {
  std::vector<uint32_t> ids;
  if (references_.empty()) return ids;
  ByteReader in = reader(references_);
  const size_t id_size = version(in) == 0 ? 2 : 4;
  while (in.remaining() > 0) {
    const HeifBox box = next_box(in);
    ByteReader inside = reader(box.contents);
    if (box.type != box_tag("dimg") || inside.big_endian(id_size) != id) continue;
    const uint32_t count = inside.be16();
    for (uint32_t i = 0; i < count; ++i) {
      ids.push_back(static_cast<uint32_t>(inside.big_endian(id_size)));
    }
    break;
  }
  return ids;
}

}  // namespace vig
