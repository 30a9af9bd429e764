#include "vig/weights/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "vig/base/error.h"
#include "vig/base/printable.h"

namespace vig {

using nlohmann::json;

json parse_strict_json(const std::string& where, std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    fail("{}: expected at most {} bytes (a fixed limit), found {}", where, limits.bytes,
         text.size());
  }
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > limits.depth) {
      fail("{}: expected JSON of at most {} levels (a fixed limit), found more", where,
           limits.depth);
    }
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        fail("{}: gives \"{}\" twice", where, printable(key, 40));
      }
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception&) {
    fail("{}: expected JSON, found \"{}\"", where, printable(text, 40));
  }
}

}  // namespace vig
