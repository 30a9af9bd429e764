// Small files that spare a search: numbers and texts behind a line that says what they are, and a
// checksum at the end. They are not trusted. Numbers are as the machine has them: another one
// makes the file again.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace vig {

class IndexWriter {
 public:
  explicit IndexWriter(std::string_view magic) : text_(magic) {}

  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    text_ += text;
  }
  // The file appears whole or not at all; where it cannot be written, the next run searches again.
  void write(const std::string& path);

 private:
  std::string text_;
};

class IndexReader {
 public:
  // Nothing where the file is not there, is no such file or is damaged.
  static std::optional<IndexReader> open(const std::string& path, std::string_view magic);

  // False where the file ends before.
  template <class T>
  requires std::is_arithmetic_v<T>
  bool take(T& value) {
    if (left() < sizeof value) return false;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  bool take(std::string& text) {
    uint32_t bytes = 0;
    if (!take(bytes) || left() < bytes) return false;
    text = text_.substr(at_, bytes);
    at_ += bytes;
    return true;
  }
  size_t left() const { return text_.size() - at_; }  // bytes

 private:
  explicit IndexReader(std::string text, size_t at) : text_(std::move(text)), at_(at) {}

  std::string text_;  // without the checksum
  size_t at_;
};

}  // namespace vig
