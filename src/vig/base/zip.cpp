#include "vig/base/zip.h"

#include <algorithm>
#include <cstdint>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

using Bytes = std::span<const unsigned char>;

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr size_t kLocalSize = 30;
constexpr size_t kEntrySize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kLocator64Size = 20;
constexpr uint32_t kIn64 = 0xffffffff;  // "the value stands in the zip64 field"
constexpr uint16_t kZip64Field = 1;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kUnix = 3;  // as the system that wrote an entry; it has a file mode then
constexpr uint32_t kModeKind = 0170000, kModeLink = 0120000;

class ZipReader {
 public:
  ZipReader(Bytes bytes, const std::string& file, size_t most)
      : bytes_(bytes), file_(file), most_(most) {}

  std::vector<ZipEntry> read() {
    const Directory directory = find_directory();
    std::vector<ZipEntry> entries;
    const uint64_t end = directory.begin + directory.size;
    uint64_t packed = 0;
    for (uint64_t at = directory.begin; at < end;) {
      if (entries.size() == most_) {
        fail("{}: expected at most {} entries in its zip directory (a fixed limit), found more",
             file_, most_);
      }
      entries.push_back(read_entry(at));
      // Entries that share data would unpack to more than any ratio allows.
      packed += entries.back().data.size();
      if (packed > bytes_.size()) bad("its entries overlap");
      if (at > end) bad("its directory is damaged");
    }
    check_names(entries);
    // Writers that do not know zip64 leave the lower bits of larger counts.
    const uint64_t count = directory.zip64 ? entries.size() : entries.size() % 65536;
    if (count != directory.count) bad("its directory does not hold as many entries as it says");
    return entries;
  }

 private:
  struct Directory {
    uint64_t begin;
    uint64_t size;
    uint64_t count;
    bool zip64;
  };

  [[noreturn]] void bad(std::string_view what) const {
    fail("{}: broken zip archive: {}", file_, what);
  }

  // By sorting: names can be chosen so that all of them have one hash.
  void check_names(const std::vector<ZipEntry>& entries) const {
    std::vector<std::string_view> names;
    names.reserve(entries.size());
    for (const ZipEntry& entry : entries) names.push_back(entry.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) {
      fail("{}: its zip directory names \"{}\" twice", file_, printable(*twice));
    }
  }

  Bytes at(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      bad("it points outside the file, which may have been cut short");
    }
    return bytes_.subspan(offset, size);
  }

  uint64_t number(uint64_t offset, size_t width) const {
    const Bytes raw = at(offset, width);
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | raw[i];
    return value;
  }
  uint16_t u16(uint64_t offset) const { return static_cast<uint16_t>(number(offset, 2)); }
  uint32_t u32(uint64_t offset) const { return static_cast<uint32_t>(number(offset, 4)); }
  uint64_t u64(uint64_t offset) const { return number(offset, 8); }

  // The end record is the last thing in the file but for a comment of known length.
  uint64_t find_end() const {
    if (bytes_.size() >= kEndSize) {
      const uint64_t last = bytes_.size() - kEndSize;
      const uint64_t first = last > 0xffff ? last - 0xffff : 0;
      for (uint64_t offset = last + 1; offset-- > first;) {
        if (u32(offset) == kEndSignature && offset + kEndSize + u16(offset + 20) == bytes_.size()) {
          return offset;
        }
      }
    }
    bad("it has no directory at its end; the file may have been cut short");
  }

  Directory find_directory() const {
    const uint64_t end = find_end();
    Directory directory{u32(end + 16), u32(end + 12), u16(end + 10), false};
    const bool located = end >= kLocator64Size && u32(end - kLocator64Size) == kLocator64Signature;
    // A count of all ones may also be just that.
    if (directory.begin == kIn64 || directory.size == kIn64 ||
        (directory.count == 0xffff && located)) {
      if (!located) bad("its zip64 record is missing");
      const uint64_t end64 = u64(end - kLocator64Size + 8);
      at(end64, kEnd64Size);
      if (u32(end64) != kEnd64Signature) bad("its zip64 record is missing");
      directory = {u64(end64 + 48), u64(end64 + 40), u64(end64 + 32), true};
    }
    at(directory.begin, directory.size);
    return directory;
  }

  // Reads the directory entry at `offset` and moves `offset` behind it.
  ZipEntry read_entry(uint64_t& offset) const {
    at(offset, kEntrySize);
    if (u32(offset) != kEntrySignature) bad("its directory is damaged");
    const uint16_t name_length = u16(offset + 28);
    const uint16_t extra_length = u16(offset + 30);
    const Bytes raw_name = at(offset + kEntrySize, name_length);
    const std::string_view name(reinterpret_cast<const char*>(raw_name.data()), raw_name.size());
    if (u16(offset + 8) & kEncrypted) {
      fail("{}: its zip entry \"{}\" is encrypted", file_, printable(name));
    }
    const uint16_t method = u16(offset + 10);
    const uint32_t crc = u32(offset + 16);
    const bool link =
        u16(offset + 4) >> 8 == kUnix && (u32(offset + 38) >> 16 & kModeKind) == kModeLink;
    uint64_t packed = u32(offset + 20);
    uint64_t size = u32(offset + 24);
    uint64_t local = u32(offset + 42);
    read_zip64_field(offset + kEntrySize + name_length, extra_length, {&size, &packed, &local});
    if (method == ZipEntry::kStored && packed != size) bad("a stored entry has two sizes");
    offset += kEntrySize + name_length + extra_length + u16(offset + 32);

    // The local header repeats the name; its own extra field is padding and may differ in length.
    at(local, kLocalSize);
    if (u32(local) != kLocalSignature) bad("its directory points at something else");
    const uint64_t data = local + kLocalSize + u16(local + 26) + u16(local + 28);
    return {name, at(data, packed), size, method, crc, link};
  }

  // Of size, packed size and offset, in this order, the field holds those that did not fit 32 bits.
  void read_zip64_field(uint64_t begin, uint64_t length,
                        std::initializer_list<uint64_t*> values) const {
    at(begin, length);
    const uint64_t end = begin + length;
    while (begin + 4 <= end) {
      const uint16_t id = u16(begin);
      const uint64_t field_end = begin + 4 + u16(begin + 2);
      if (field_end > end) bad("its directory is damaged");
      if (id == kZip64Field) {
        uint64_t next = begin + 4;
        for (uint64_t* value : values) {
          if (*value != kIn64) continue;
          if (next + 8 > field_end) bad("its directory is damaged");
          *value = u64(next);
          next += 8;
        }
        return;
      }
      begin = field_end;
    }
  }

  Bytes bytes_;
  const std::string& file_;
  size_t most_;
};

}  // namespace

bool is_zip(Bytes bytes) {
  constexpr unsigned char kMagic[] = {'P', 'K', 3, 4};
  return bytes.size() >= 4 && std::equal(kMagic, kMagic + 4, bytes.begin());
}

std::vector<ZipEntry> read_zip_directory(Bytes bytes, const std::string& file, size_t most) {
  return ZipReader(bytes, file, most).read();
}

}  // namespace vig
