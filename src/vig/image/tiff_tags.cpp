#include "vig/image/tiff_tags.h"

#include <algorithm>
#include <array>
#include <bit>

#include "vig/base/error.h"

namespace vig {
namespace {

// Bytes of one value by the type's number; 0 for types that do not exist.
constexpr std::array<uint64_t, 19> kTypeBytes = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                                 8, 4, 8, 4, 0, 0, 8, 8, 8};
constexpr uint16_t kRationalType = 5, kSignedRationalType = 10, kFloatType = 11, kDoubleType = 12;

uint64_t type_bytes(uint16_t type) { return type < kTypeBytes.size() ? kTypeBytes[type] : 0; }

uint64_t to_number(const uint8_t* bytes, uint64_t size, bool big_endian) {
  uint64_t value = 0;
  for (uint64_t i = 0; i < size; ++i) value = value << 8 | bytes[big_endian ? i : size - 1 - i];
  return value;
}

}  // namespace

TiffKind::TiffKind(const FileBytes& file) {
  std::array<uint8_t, 16> start = {};
  file.read(0, start.data(), start.size());
  big_endian = start[0] == 'M';
  big = to_number(start.data() + 2, 2, big_endian) == 43;
  first =
      big ? to_number(start.data() + 8, 8, big_endian) : to_number(start.data() + 4, 4, big_endian);
}

TiffTags::TiffTags(const FileBytes& file, const TiffKind& kind, uint64_t offset)
    : file_(file), kind_(kind), offset_(offset) {
  const uint64_t count_bytes = kind.big ? 8 : 2, word = kind.big ? 8 : 4;
  const uint64_t entry_bytes = 4 + 2 * word;
  if (offset > file.size) return;
  std::array<uint8_t, 8> start = {};
  if (file.read(offset, start.data(), count_bytes) != count_bytes) return;
  const uint64_t stated = number(start.data(), count_bytes);
  const uint64_t count = std::min(stated, kMaxTags);
  std::vector<uint8_t> bytes(std::min(count * entry_bytes + word, file.size - offset));
  bytes.resize(file.read(offset + count_bytes, bytes.data(), bytes.size()));
  for (uint64_t i = 0; i < count && (i + 1) * entry_bytes <= bytes.size(); ++i) {
    const uint8_t* entry = bytes.data() + i * entry_bytes;
    const auto tag = static_cast<uint16_t>(number(entry, 2));
    const auto type = static_cast<uint16_t>(number(entry + 2, 2));
    const uint64_t values = number(entry + 4, word), each = type_bytes(type);
    // More values than the file has bytes are refused by libtiff.
    if (each == 0 || values > file.size / each) continue;
    const uint64_t own = offset + count_bytes + i * entry_bytes + 4 + word;
    entries_.push_back(
        {tag, type, values, values * each <= word ? own : number(entry + 4 + word, word)});
  }
  if (stated == count && bytes.size() >= count * entry_bytes + word) {
    next_ = number(bytes.data() + count * entry_bytes, word);
  }
}

uint64_t TiffTags::number(const uint8_t* bytes, uint64_t size) const {
  return to_number(bytes, size, kind_.big_endian);
}

const TiffTags::Entry* TiffTags::find(uint16_t tag) const {
  const auto entry = std::ranges::find(entries_, tag, &Entry::tag);
  if (entry == entries_.end()) return nullptr;
  const uint64_t bytes = entry->count * type_bytes(entry->type);
  return entry->at <= file_.size && bytes <= file_.size - entry->at ? &*entry : nullptr;
}

uint64_t TiffTags::count(uint16_t tag) const {
  const Entry* entry = find(tag);
  return entry == nullptr ? 0 : entry->count;
}

uint64_t TiffTags::value_bytes() const {
  uint64_t total = 0;
  for (const Entry& entry : entries_) {
    const uint64_t bytes = entry.count * type_bytes(entry.type);
    if (bytes > (kind_.big ? 8u : 4u)) total += bytes;
  }
  return total;
}

uint64_t TiffTags::largest_value() const {
  constexpr std::array<uint16_t, 4> kTables = {273, 279, 324, 325};
  uint64_t most = 0;
  for (const Entry& entry : entries_) {
    if (std::ranges::find(kTables, entry.tag) != kTables.end()) continue;
    most = std::max(most, entry.count * type_bytes(entry.type));
  }
  return most;
}

std::vector<uint8_t> TiffTags::values(const Entry& entry, uint64_t most) const {
  std::vector<uint8_t> bytes(std::min(entry.count, most) * type_bytes(entry.type));
  const size_t got = file_.read(entry.at, bytes.data(), bytes.size());
  bytes.resize(got - got % type_bytes(entry.type));
  return bytes;
}

std::vector<uint64_t> TiffTags::integers(uint16_t tag, uint64_t most) const {
  std::vector<uint64_t> result;
  const Entry* entry = find(tag);
  if (entry == nullptr || entry->type == kFloatType || entry->type == kDoubleType) return result;
  const std::vector<uint8_t> bytes = values(*entry, most);
  const uint64_t each = type_bytes(entry->type);
  for (uint64_t i = 0; i < bytes.size(); i += each) result.push_back(number(&bytes[i], each));
  return result;
}

std::vector<double> TiffTags::numbers(uint16_t tag, uint64_t most) const {
  std::vector<double> result;
  const Entry* entry = find(tag);
  if (entry == nullptr) return result;
  const std::vector<uint8_t> bytes = values(*entry, most);
  const uint64_t each = type_bytes(entry->type);
  for (uint64_t i = 0; i < bytes.size(); i += each) {
    const uint8_t* value = &bytes[i];
    if (entry->type == kDoubleType) {
      result.push_back(std::bit_cast<double>(number(value, 8)));
    } else if (entry->type == kFloatType) {
      result.push_back(std::bit_cast<float>(static_cast<uint32_t>(number(value, 4))));
    } else if (entry->type == kRationalType || entry->type == kSignedRationalType) {
      result.push_back(static_cast<double>(number(value, 4)) /
                       static_cast<double>(number(value + 4, 4)));
    } else {
      result.push_back(static_cast<double>(number(value, each)));
    }
  }
  return result;
}

std::string TiffTags::text(uint16_t tag, uint64_t most) const {
  const Entry* entry = find(tag);
  if (entry == nullptr || type_bytes(entry->type) != 1) return "";
  const std::vector<uint8_t> bytes = values(*entry, most);
  return {bytes.begin(), std::ranges::find(bytes, 0)};
}

uint64_t TiffTags::integer(uint16_t tag, uint64_t otherwise) const {
  const std::vector<uint64_t> values = integers(tag, 1);
  return values.empty() ? otherwise : values[0];
}

void check_tiff_tags(const TiffTags& tags, uint64_t file_bytes, const std::string& name) {
  constexpr uint64_t kShared = uint64_t{1}
                               << 16;  // values that some writers store once for two tags
  const uint64_t total = tags.value_bytes();
  if (total > file_bytes + kShared) {
    fail("{}: damaged TIFF: tags of {} bytes in a file of {}", name, total, file_bytes);
  }
}

void check_tiff_tags(std::span<const uint8_t> bytes, const std::string& name) {
  const FileBytes file = memory_bytes(bytes);
  const TiffKind kind(file);
  check_tiff_tags(TiffTags(file, kind, kind.first), bytes.size(), name);
}

}  // namespace vig
