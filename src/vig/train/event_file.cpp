#include "vig/train/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "vig/base/error.h"
#include "vig/base/regular_file.h"
#include "vig/weights/atomic_file.h"

namespace vig::train {
namespace {

template <class Number>
void append_number(std::string& out, Number value) {
  for (size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// Fields of protocol buffers, by number.
void append_double(std::string& out, int field, double value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 1);
  append_number(out, std::bit_cast<uint64_t>(value));
}
void append_float(std::string& out, int field, float value) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 5);
  append_number(out, std::bit_cast<uint32_t>(value));
}
void append_integer(std::string& out, int field, int64_t value) {
  append_varint(out, static_cast<uint64_t>(field) << 3);
  append_varint(out, static_cast<uint64_t>(value));
}
void append_bytes(std::string& out, int field, std::string_view bytes) {
  append_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

void append_record(std::string& out, std::string_view data) {
  std::string length;
  append_number(length, uint64_t{data.size()});
  out += length;
  append_number(out, masked_crc(length));
  out += data;
  append_number(out, masked_crc(data));
}

std::string event(const Columns& columns, const MetricsRow& row) {
  std::string summary;
  const auto add = [&](const std::string& tag, double number) {
    if (!std::isfinite(number)) return;
    std::string value;
    append_bytes(value, 1, tag);
    append_float(value, 2, static_cast<float>(number));
    append_bytes(summary, 1, value);
  };
  add("epoch", row.epoch);
  add("lr", row.lr);
  add("train/loss", row.train_loss);
  for (size_t i = 0; i < row.train.size(); ++i) add(event_tag(columns.train[i].name), row.train[i]);
  for (size_t i = 0; i < row.val.size(); ++i) add(event_tag(columns.val[i].name), row.val[i]);
  add("images_per_second", row.images_per_second);
  std::string data;
  append_double(data, 1, row.seconds);
  append_integer(data, 2, row.step);
  append_bytes(data, 5, summary);
  return data;
}

// Is the file there, and does `bytes` begin with it? Gives its size.
bool is_beginning(const std::string& path, std::string_view bytes, size_t& size) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (std::filesystem::file_size(path, ignored) > bytes.size()) return false;
  const std::string there = read_regular_file(path, bytes.size());
  size = there.size();
  return bytes.starts_with(there);
}

void append_to_file(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  bool good = file >= 0;
  while (good && !bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      good = false;
    }
  }
  good = good && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  if (!good) fail("{}: cannot be written: {}", path, std::strerror(reason));
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made;
    for (uint32_t i = 0; i < made.size(); ++i) {
      uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0x82f63b78u : 0);
      made[i] = rest;
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

std::string event_tag(const std::string& column) {
  for (const std::string_view split : {"train_", "val_"}) {
    if (!column.starts_with(split)) continue;
    return fmt::format("{}/{}", split.substr(0, split.size() - 1), column.substr(split.size()));
  }
  return column;
}

std::string event_file(const Columns& columns, const std::vector<MetricsRow>& rows) {
  std::string first, file;
  append_double(first, 1, 0);
  append_bytes(first, 3, "brain.Event:2");
  append_record(file, first);
  for (const MetricsRow& row : rows) append_record(file, event(columns, row));
  return file;
}

void extend_file(const std::string& path, std::string_view bytes) {
  size_t size = 0;
  if (is_beginning(path, bytes, size)) {
    append_to_file(path, bytes.substr(size));
  } else {
    AtomicFile(path).commit_text(bytes);
  }
}

}  // namespace vig::train
