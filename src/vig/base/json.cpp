#include "vig/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "vig/base/printable.h"
#include "vig/base/utf8.h"

namespace vig {
namespace {

[[noreturn]] void unexpected(std::string_view expected, const Json& found) {
  throw JsonError(fmt::format("expected {}, found {}", expected, printable(found.dump(), 40)));
}

// What reads back as the same number. Whole ones keep a fraction of .0, or an exponent, unless they
// are long.
std::string number_text(double value) {
  constexpr size_t kLong = 16;
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") != std::string::npos) return text;
  char buffer[32];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string longer = std::abs(value) < 1e15 ? text + ".0" : std::string(buffer, end);
  return longer.size() > kLong ? text : longer;
}

}  // namespace

class Json::Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& value) {
    std::visit([this](const auto& held) { write(held); }, value.value_);
  }
  std::string take() { return std::move(out_); }

 private:
  void write(std::nullptr_t) { out_ += "null"; }
  void write(bool truth) { out_ += truth ? "true" : "false"; }
  void write(int64_t number) { out_ += fmt::to_string(number); }
  void write(uint64_t number) { out_ += fmt::to_string(number); }
  void write(double number) { out_ += number_text(number); }
  void write(const std::string& text) {
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    out_ += '"';
    for (const char c : is_utf8(text) ? text : as_utf8(text)) {
      if (const size_t at = kEscaped.find(c); at != std::string_view::npos) {
        out_ += '\\';
        out_ += kNames[at];
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  void write(const Array& elements) {
    write_list('[', elements, ']', [this](const Json& element) { write(element); });
  }
  void write(const Object& members) {
    write_list('{', members, '}', [this](const Member& member) {
      write(member.key);
      out_ += indent_ < 0 ? ":" : ": ";
      write(member.value);
    });
  }

  template <class Items, class Write>
  void write_list(char open, const Items& items, char close, const Write& write_item) {
    out_ += open;
    ++depth_;
    for (const auto& item : items) {
      if (&item != &items.front()) out_ += ',';
      new_line();
      write_item(item);
    }
    --depth_;
    if (!items.empty()) new_line();
    out_ += close;
  }
  void new_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_) * static_cast<size_t>(depth_), ' ');
  }

  const int indent_;
  int depth_ = 0;
  std::string out_;
};

Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(int64_t{value}) {}
Json::Json(unsigned value) : value_(uint64_t{value}) {}
Json::Json(long value) : value_(int64_t{value}) {}
Json::Json(unsigned long value) : value_(uint64_t{value}) {}
Json::Json(long long value) : value_(int64_t{value}) {}
Json::Json(unsigned long long value) : value_(uint64_t{value}) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(const std::vector<std::string>& texts) : value_(Array(texts.begin(), texts.end())) {}
Json::Json(const std::map<std::string, std::string>& members) : value_(Object()) {
  for (const auto& [key, value] : members) add(key, value);
}
Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array(std::initializer_list<Json> elements) {
  Json value;
  value.value_ = Array(elements);
  return value;
}

Json Json::object() { return Json(std::initializer_list<Member>()); }

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_bool() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_integer() || is_float(); }
bool Json::is_float() const { return std::holds_alternative<double>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }
bool Json::is_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}

bool Json::is_integer(int64_t least, int64_t most) const {
  const auto within = [&](auto number) {
    return std::cmp_greater_equal(number, least) && std::cmp_less_equal(number, most);
  };
  if (const auto* number = std::get_if<int64_t>(&value_)) return within(*number);
  if (const auto* number = std::get_if<uint64_t>(&value_)) return within(*number);
  return false;
}

template <>
bool Json::get<bool>() const {
  if (!is_bool()) unexpected("true or false", *this);
  return std::get<bool>(value_);
}

template <>
int64_t Json::get<int64_t>() const {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kMost = std::numeric_limits<int64_t>::max();
  if (is_integer(kLeast, kMost)) {
    const auto* number = std::get_if<int64_t>(&value_);
    return number != nullptr ? *number : static_cast<int64_t>(std::get<uint64_t>(value_));
  }
  const double number = is_float() ? std::get<double>(value_) : NAN;
  // 2^63 itself is too large.
  if (!(number >= -0x1p63 && number < 0x1p63 && std::trunc(number) == number)) {
    unexpected("a whole number of 64 bits", *this);
  }
  return static_cast<int64_t>(number);
}

template <>
int Json::get<int>() const {
  const auto number = get<int64_t>();
  if (!std::in_range<int>(number)) unexpected("a whole number of 32 bits", *this);
  return static_cast<int>(number);
}

template <>
double Json::get<double>() const {
  if (const auto* number = std::get_if<int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<uint64_t>(&value_)) return static_cast<double>(*number);
  if (!is_float()) unexpected("a number", *this);
  return std::get<double>(value_);
}

template <>
std::string Json::get<std::string>() const {
  if (!is_string()) unexpected("a text", *this);
  return std::get<std::string>(value_);
}

size_t Json::size() const {
  if (is_array()) return std::get<Array>(value_).size();
  return is_object() ? std::get<Object>(value_).size() : 0;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  if (!is_array()) unexpected("an array", *this);
  std::get<Array>(value_).push_back(std::move(value));
}

const std::vector<Json>& Json::elements() const {
  if (!is_array()) unexpected("an array", *this);
  return std::get<Array>(value_);
}

const Json& Json::at(size_t index) const {
  if (index >= elements().size()) {
    unexpected(fmt::format("an array of more than {} elements", index), *this);
  }
  return elements()[index];
}

const std::vector<Json::Member>& Json::items() const {
  if (!is_object()) unexpected("an object", *this);
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto& members = std::get<Object>(value_);
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

bool Json::contains(std::string_view key) const { return find(key) != nullptr; }

const Json& Json::at(std::string_view key) const {
  const Json* const found = find(key);
  if (found == nullptr) unexpected(fmt::format("an object with \"{}\"", key), *this);
  return *found;
}

Json& Json::operator[](std::string_view key) {
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  add(std::string(key), nullptr);
  return std::get<Object>(value_).back().value;
}

void Json::add(std::string key, Json value) {
  if (is_null()) value_ = Object();
  if (!is_object()) unexpected("an object", *this);
  std::get<Object>(value_).push_back({std::move(key), std::move(value)});
}

void Json::erase(std::string_view key) {
  if (!is_object()) return;
  std::erase_if(std::get<Object>(value_), [&](const Member& member) { return member.key == key; });
}

void Json::sort_keys() {
  if (is_array()) {
    for (Json& element : std::get<Array>(value_)) element.sort_keys();
  } else if (is_object()) {
    auto& members = std::get<Object>(value_);
    for (Member& member : members) member.value.sort_keys();
    std::ranges::stable_sort(members, {}, &Member::key);
  }
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return a.get<double>() == b.get<double>();
    return a.dump() == b.dump();
  }
  if (a.value_.index() != b.value_.index() || a.size() != b.size()) return false;
  if (a.is_string()) return std::get<std::string>(a.value_) == std::get<std::string>(b.value_);
  if (a.is_array()) return std::ranges::equal(a.elements(), b.elements());
  if (!a.is_object()) return a.dump() == b.dump();
  return std::ranges::all_of(a.items(), [&](const Json::Member& member) {
    const Json* const other = b.find(member.key);
    return other != nullptr && *other == member.value;
  });
}

std::string Json::dump(int indent) const {
  Writer writer(indent);
  writer.write(*this);
  return writer.take();
}

}  // namespace vig
