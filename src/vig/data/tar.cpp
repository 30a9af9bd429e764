#include "vig/data/tar.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "vig/base/error.h"

namespace vig {
namespace {

using Bytes = std::span<const uint8_t>;
using namespace std::string_view_literals;

constexpr size_t kBlock = 512;
constexpr uint64_t kMaxMeta = 1 << 20;  // of a header that says more about the next entry
constexpr size_t kMaxName = 4096;       // as long as Linux allows a path to be

// Fields of a header: offset, size.
struct Field {
  size_t offset, size;
  Bytes of(Bytes header) const { return header.subspan(offset, size); }
};
constexpr Field kName = {0, 100};
constexpr Field kSize = {124, 12};
constexpr Field kChecksum = {148, 8};
constexpr size_t kType = 156;
constexpr Field kTarget = {157, 100};
constexpr Field kMagic = {257, 6};
constexpr Field kPrefix = {345, 155};

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view until_null(std::string_view text) { return text.substr(0, text.find('\0')); }

// Octal digits between blanks, ended by a blank, a null or the field.
bool parse_octal(Bytes field, uint64_t& value) {
  std::string_view text = until_null(as_text(field));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find(' '));
  value = 0;
  const auto end = text.data() + text.size();
  return text.empty() || std::from_chars(text.data(), end, value, 8).ptr == end;
}

bool is_zero(Bytes block) {
  return std::ranges::all_of(block, [](uint8_t byte) { return byte == 0; });
}

// The sum of all bytes with the field itself as blanks. Some old writers summed signed bytes.
bool checksum_is_right(Bytes header) {
  uint64_t claimed;
  if (!parse_octal(kChecksum.of(header), claimed)) return false;
  int64_t sum = 0, signed_sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    const uint8_t byte = own ? ' ' : header[i];
    sum += byte;
    signed_sum += static_cast<int8_t>(byte);
  }
  return std::cmp_equal(claimed, sum) || std::cmp_equal(claimed, signed_sum);
}

}  // namespace

bool looks_like_tar(Bytes bytes) {
  if (bytes.size() < kBlock) return false;
  const Bytes header = bytes.first(kBlock);
  return is_zero(header) || checksum_is_right(header);
}

void TarReader::bad(std::string_view what) const {
  fail("{}: broken tar archive: {} at byte {}", file_, what, offset_);
}

Bytes TarReader::take(uint64_t size) {
  const uint64_t left = bytes_.size() - offset_;
  const uint64_t padding = (kBlock - size % kBlock) % kBlock;
  if (size > left || padding > left - size) bad("it is cut short, or a size in it is wrong,");
  const Bytes taken = bytes_.subspan(offset_, size);
  offset_ += size + padding;
  return taken;
}

uint64_t TarReader::read_number(Bytes field) const {
  uint64_t value = 0;
  if (field[0] & 0x80) {  // GNU: the other bytes as one big-endian number
    if (field[0] != 0x80) bad("a number is out of range");
    for (const uint8_t byte : field.subspan(1)) {
      if (value >> 55) bad("a number is out of range");
      value = value << 8 | byte;
    }
  } else if (!parse_octal(field, value)) {
    bad("a number is damaged");
  }
  return value;
}

std::string TarReader::read_meta(uint64_t size) {
  if (size > kMaxMeta) bad(fmt::format("a header of more than {} bytes (a fixed limit)", kMaxMeta));
  return std::string(as_text(take(size)));
}

// Records "LENGTH KEY=VALUE\n", where the length is that of the whole record.
void TarReader::read_pax(std::string_view records) {
  while (!records.empty()) {
    size_t length = 0;
    const auto number =
        std::from_chars(records.data(), records.data() + records.size(), length, 10);
    const size_t digits = static_cast<size_t>(number.ptr - records.data());
    if (number.ec != std::errc() || length > records.size() || length < digits + 2 ||
        records[digits] != ' ' || records[length - 1] != '\n') {
      bad("a pax header is damaged");
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) bad("a pax header is damaged");
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") {
      name_ = value;
    } else if (key == "linkpath") {
      target_ = value;
    } else if (key == "size") {
      uint64_t size = 0;
      const auto end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), end, size);
      if (parsed.ec != std::errc() || parsed.ptr != end) bad("a pax header is damaged");
      size_ = size;
    } else if (key.starts_with("GNU.sparse.")) {
      bad("a sparse file, which is not supported,");
    }
  }
}

bool TarReader::next(TarEntry& entry) {
  for (;;) {
    if (offset_ == bytes_.size()) bad("it is cut short: the mark of its end is missing");
    const uint64_t begin = offset_;
    const Bytes header = take(kBlock);
    if (is_zero(header)) return false;
    offset_ = begin;  // for messages
    if (!checksum_is_right(header)) bad("a header's checksum is wrong");
    const uint64_t header_size = read_number(kSize.of(header));
    offset_ = begin + kBlock;

    const char type = static_cast<char>(header[kType]);
    switch (type) {
      case 'L':
        name_ = until_null(read_meta(header_size));
        continue;
      case 'K':
        target_ = until_null(read_meta(header_size));
        continue;
      case 'x':
        read_pax(read_meta(header_size));
        continue;
      case 'g':  // facts about all entries; none that matter here make sense
        read_meta(header_size);
        continue;
      case 'S':
        bad("a sparse file, which is not supported,");
      default:
        break;
    }

    if (name_) {
      entry.name = *std::move(name_);
    } else {
      entry.name = until_null(as_text(kName.of(header)));
      // GNU's own format, "ustar " with a blank, keeps other things there.
      const std::string_view prefix = until_null(as_text(kPrefix.of(header)));
      if (as_text(kMagic.of(header)) == "ustar\0"sv && !prefix.empty()) {
        entry.name = std::string(prefix) + "/" + entry.name;
      }
    }
    entry.target =
        target_ ? *std::move(target_) : std::string(until_null(as_text(kTarget.of(header))));
    if (std::max(entry.name.size(), entry.target.size()) > kMaxName) {
      bad(fmt::format("a name of more than {} bytes (a fixed limit)", kMaxName));
    }
    const uint64_t size = size_.value_or(header_size);
    name_.reset();
    target_.reset();
    size_.reset();

    // Types 1 to 6 have no content and ignore their size.
    entry.data = type >= '1' && type <= '6' ? Bytes() : take(size);
    switch (type) {
      case '\0':
      case '0':
      case '7':
        // Before there was a type for folders, their names ended in a slash.
        entry.kind = entry.name.ends_with('/') ? TarEntry::Kind::kFolder : TarEntry::Kind::kFile;
        return true;
      case '1':
        entry.kind = TarEntry::Kind::kHardLink;
        return true;
      case '2':
        entry.kind = TarEntry::Kind::kSymbolicLink;
        return true;
      case '5':
        entry.kind = TarEntry::Kind::kFolder;
        return true;
      default:
        continue;
    }
  }
}

}  // namespace vig
