// JSON values, and the text that programs write of them. Parsing is in weights/strict_json.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "vig/base/error.h"

namespace vig {

// A value is not of the type, or has not the member, that its reader expects.
class JsonError : public Error {
 public:
  explicit JsonError(const std::string& message) : Error(ErrorCode::kInput, message) {}
};

// Braces make an object, {{"a", 1}, {"b", "x"}}, whose members keep their order. Arrays are made by
// name: Json::array({1, "x"}). Nothing is guessed from what the braces hold.
class Json {
 public:
  struct Member;

  Json(std::nullptr_t = nullptr);
  Json(bool value);
  Json(int value);
  Json(unsigned value);
  Json(long value);
  Json(unsigned long value);
  Json(long long value);
  Json(unsigned long long value);
  Json(double value);  // infinity and nan are written as null
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(const std::vector<std::string>& texts);
  Json(const std::map<std::string, std::string>& members);
  Json(std::initializer_list<Member> members);
  Json(const void*) = delete;  // would be a bool

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> elements = {});
  static Json object();

  bool is_null() const;
  bool is_bool() const;
  bool is_number() const;
  bool is_integer() const;  // written without a fraction or exponent
  bool is_integer(int64_t least, int64_t most) const;
  bool is_float() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  // bool, int, int64_t, double or std::string. Numbers become integers only without any loss.
  // Throws a JsonError otherwise.
  template <class T>
  T get() const;

  size_t size() const;  // of an array or object; 0 of all others

  // An array: null becomes one at the first element.
  void push_back(Json value);
  const Json& at(size_t index) const;
  const Json& operator[](size_t index) const { return at(index); }
  Json& operator[](size_t index) { return const_cast<Json&>(at(index)); }
  const std::vector<Json>& elements() const;
  std::vector<Json>::const_iterator begin() const { return elements().begin(); }
  std::vector<Json>::const_iterator end() const { return elements().end(); }

  // An object: null becomes one at the first member. Members are found by going through all of
  // them, so many are best added by add(), which does not search for an equal key.
  bool contains(std::string_view key) const;
  const Json& at(std::string_view key) const;
  const Json& operator[](std::string_view key) const { return at(key); }
  Json& operator[](std::string_view key);  // null where there was none
  void add(std::string key, Json value);
  void erase(std::string_view key);
  const std::vector<Member>& items() const;
  // Puts the members in the order of their keys, within members and elements as well.
  void sort_keys();

  // Numbers of different types and objects of different order compare equal.
  friend bool operator==(const Json& a, const Json& b);

  // On one line, or on lines indented by so many spaces a level. Bytes that are no UTF-8 become
  // U+FFFD; a number has as few digits as read back as the same number.
  std::string dump(int indent = -1) const;

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  class Writer;

  const Json* find(std::string_view key) const;

  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string key;
  Json value;
};

template <>
bool Json::get<bool>() const;
template <>
int Json::get<int>() const;
template <>
int64_t Json::get<int64_t>() const;
template <>
double Json::get<double>() const;
template <>
std::string Json::get<std::string>() const;

}  // namespace vig
