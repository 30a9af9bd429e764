#include "vig/data/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "vig/base/error.h"
#include "vig/base/printable.h"
#include "vig/base/utf8.h"

namespace vig {
namespace {

constexpr size_t kMaxNumber = 400;  // characters

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void JsonReader::fail_here(const std::string& expected) const {
  const std::string_view rest = text_.substr(std::min(at_, text_.size()), 20);
  if (rest.empty()) fail("{}: expected {}, found the end of the file", where_, expected);
  fail("{}: expected {} at byte {}, found \"{}\"", where_, expected, at_, printable(rest));
}

char JsonReader::next_character() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
    ++at_;
  }
  return '\0';
}

void JsonReader::expect(char c, const char* what) {
  if (next_character() != c || at_ == text_.size()) fail_here(what);
  ++at_;
}

JsonReader::Kind JsonReader::peek() {
  switch (next_character()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
    case 'n':
      return Kind::kWord;
    case '-':
      return Kind::kNumber;
    default:
      if (is_digit(next_character())) return Kind::kNumber;
      fail_here("a value of JSON");
  }
}

void JsonReader::enter() {
  if (first_.size() == kMaxDepth) {
    fail("{}: expected JSON of at most {} levels (a fixed limit), found more at byte {}", where_,
         kMaxDepth, at_);
  }
  first_.push_back(1);
}

void JsonReader::begin_object(const char* what) {
  expect('{', what);
  enter();
}

void JsonReader::begin_array(const char* what) {
  expect('[', what);
  enter();
}

bool JsonReader::next_item() {
  if (next_character() == ']') {
    ++at_;
    first_.pop_back();
    return false;
  }
  if (first_.back() == 0) expect(',', "a comma or the end of a list");
  first_.back() = 0;
  if (next_character() == ']') fail_here("a value of JSON");
  return true;
}

size_t JsonReader::next_field(std::span<const std::string_view> known, uint32_t& seen) {
  for (;;) {
    if (next_character() == '}') {
      ++at_;
      first_.pop_back();
      return known.size();
    }
    if (first_.back() == 0) expect(',', "a comma or the end of an object");
    first_.back() = 0;
    const std::string_view key = string_text("the name of a field");
    expect(':', "a colon");
    // Names with escapes are none of ours.
    const auto found = static_cast<size_t>(std::ranges::find(known, key) - known.begin());
    if (found == known.size()) {
      skip();
      continue;
    }
    const uint32_t bit = uint32_t{1} << found;
    if ((seen & bit) != 0) fail("{}: gives \"{}\" twice, before byte {}", where_, key, at_);
    seen |= bit;
    return found;
  }
}

std::string_view JsonReader::number_text(const char* what) {
  next_character();
  const size_t begin = at_;
  size_t at = at_;
  const auto digits = [&] {
    const size_t from = at;
    while (at < text_.size() && is_digit(text_[at])) ++at;
    if (at == from) fail_here(what);
  };
  if (at < text_.size() && text_[at] == '-') ++at;
  const size_t lead = at;
  digits();
  if (text_[lead] == '0' && at > lead + 1) fail_here(what);
  if (at < text_.size() && text_[at] == '.') {
    ++at;
    digits();
  }
  if (at < text_.size() && (text_[at] == 'e' || text_[at] == 'E')) {
    ++at;
    if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
    digits();
  }
  if (at - begin > kMaxNumber) {
    fail("{}: a number of {} characters at byte {}, expected {}", where_, at - begin, begin, what);
  }
  at_ = at;
  return text_.substr(begin, at - begin);
}

double JsonReader::number(const char* what) {
  const std::string_view text = number_text(what);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || !std::isfinite(value)) {
    fail("{}: the number {} before byte {} is out of range, expected {}", where_,
         printable(text, 40), at_, what);
  }
  return value;
}

int64_t JsonReader::whole(const char* what, int64_t least, int64_t most) {
  next_character();
  const size_t begin = at_;
  const std::string_view text = number_text(what);
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    // Programs without integers write 17.0.
    constexpr double kExact = 9007199254740992.0;
    at_ = begin;
    const double real = number(what);
    if (real != std::floor(real) || std::fabs(real) > kExact) {
      fail("{}: expected {}, a whole number from {} to {}, found {} before byte {}", where_, what,
           least, most, printable(text, 40), at_);
    }
    value = static_cast<int64_t>(real);
  }
  if (value < least || value > most) {
    fail("{}: expected {}, a whole number from {} to {}, found {} before byte {}", where_, what,
         least, most, value, at_);
  }
  return value;
}

bool JsonReader::flag(const char* what) {
  next_character();
  for (const std::string_view word : {"true", "false"}) {
    if (text_.substr(at_, word.size()) != word) continue;
    at_ += word.size();
    return word == "true";
  }
  return whole(what, 0, 1) != 0;
}

std::string_view JsonReader::string_text(const char* what) {
  expect('"', what);
  const size_t begin = at_;
  while (at_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') return text_.substr(begin, at_++ - begin);
    if (c < 0x20) fail_here("a string without control characters");
    at_ += c == '\\' ? 2 : 1;
  }
  at_ = text_.size();
  fail_here("the end of a string");
}

std::string JsonReader::string(const char* what) {
  const std::string_view raw = string_text(what);
  const auto bad = [&](const char* expected) {
    fail("{}: expected {}, found \"{}\" before byte {}", where_, expected, printable(raw, 60), at_);
  };
  std::string value;
  value.reserve(raw.size());
  const auto code = [&](size_t at) -> uint32_t {  // of the four digits
    uint32_t sum = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const int digit = i < raw.size() ? hex_value(raw[i]) : -1;
      if (digit < 0) bad("four hexadecimal digits");
      sum = sum * 16 + static_cast<uint32_t>(digit);
    }
    return sum;
  };
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      value += raw[i];
      continue;
    }
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
    const char name = raw[++i];  // string_text keeps pairs together
    if (name == 'u') {
      uint32_t point = code(i + 1);
      i += 4;
      if (point >= 0xd800 && point < 0xdc00 && raw.substr(i + 1, 2) == "\\u") {
        const uint32_t low = code(i + 3);
        if (low < 0xdc00 || low > 0xdfff) bad("a pair of surrogates");
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        i += 6;
      }
      if (point >= 0xd800 && point < 0xe000) bad("a pair of surrogates");
      append_utf8(value, point);
      continue;
    }
    const size_t known = kNames.find(name);
    if (known == kNames.npos) bad("a known escape");
    value += kMeaning[known];
  }
  for (std::string_view rest = value; !rest.empty();) {
    if (!take_character(rest)) bad("UTF-8");
  }
  return value;
}

bool JsonReader::skip_null() {
  next_character();
  if (text_.substr(at_, 4) != "null") return false;
  at_ += 4;
  return true;
}

void JsonReader::skip() {
  const size_t depth = first_.size();
  std::vector<uint8_t> objects;  // of what was entered here: is it an object?
  for (;;) {
    switch (peek()) {
      case Kind::kObject:
        begin_object("an object");
        objects.push_back(1);
        break;
      case Kind::kArray:
        begin_array("a list");
        objects.push_back(0);
        break;
      case Kind::kString:
        string_text("a string");
        break;
      case Kind::kNumber:
        number_text("a number");
        break;
      case Kind::kWord:
        if (!skip_null()) {
          if (text_.substr(at_, 4) != "true" && text_.substr(at_, 5) != "false") {
            fail_here("a value of JSON");
          }
          flag("a value of JSON");
        }
        break;
    }
    // On to the next value inside of what is open.
    for (;;) {
      if (first_.size() == depth) return;
      if (objects.back() == 0) {
        if (next_item()) break;
      } else {
        if (next_character() != '}') {
          if (first_.back() == 0) expect(',', "a comma or the end of an object");
          first_.back() = 0;
          string_text("the name of a field");
          expect(':', "a colon");
          break;
        }
        ++at_;
        first_.pop_back();
      }
      objects.pop_back();
    }
  }
}

void JsonReader::end() {
  next_character();
  if (at_ != text_.size()) fail_here("the end of the file");
}

}  // namespace vig
