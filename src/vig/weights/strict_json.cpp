#include "vig/weights/strict_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {
namespace {

// Makes our values of nlohmann's events, so that none of its own values are made.
class TreeReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeReader(const std::string& where, std::string_view text, const JsonLimits& limits)
      : where_(where), text_(text), limits_(limits) {}

  Json root;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool end_object() override {
    Json& value = open_.back().value;
    value.sort_keys();
    const auto same = std::ranges::adjacent_find(value.items(), {}, &Json::Member::key);
    if (same != value.items().end()) {
      fail("{}: gives \"{}\" twice", where_, printable(same->key, 40));
    }
    return close();
  }
  bool key(string_t& text) override {
    check_depth();
    open_.back().key = std::move(text);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    fail("{}: expected JSON, found \"{}\"", where_, printable(text_, 40));
  }

 private:
  struct Open {
    Json value;
    std::string key;  // of the member that comes next
  };

  void check_depth() const {
    if (open_.size() > static_cast<size_t>(limits_.depth)) {
      fail("{}: expected JSON of at most {} levels (a fixed limit), found more", where_,
           limits_.depth);
    }
  }
  bool open(Json value) {
    check_depth();
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    check_depth();
    if (open_.empty()) {
      root = std::move(value);
    } else if (Open& parent = open_.back(); parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else {
      parent.value.add(std::move(parent.key), std::move(value));
    }
    return true;
  }

  const std::string& where_;
  const std::string_view text_;
  const JsonLimits& limits_;
  std::vector<Open> open_;
};

}  // namespace

Json parse_strict_json(const std::string& where, std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    fail("{}: expected at most {} bytes (a fixed limit), found {}", where, limits.bytes,
         text.size());
  }
  TreeReader reader(where, text, limits);
  nlohmann::json::sax_parse(text, &reader);
  return std::move(reader.root);
}

}  // namespace vig
