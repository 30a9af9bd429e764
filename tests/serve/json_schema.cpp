#include "serve/json_schema.h"

#include <algorithm>
#include <set>

namespace vig::test {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "number") return value.is_number();
  return type == "integer" && value.is_number_integer();
}

}  // namespace

std::vector<std::string> schema_problems(const json& document, const json& schema,
                                         const json& value, const std::string& path) {
  static const std::set<std::string> kKnown = {
      "type",    "properties", "required", "additionalProperties", "items", "enum", "oneOf",
      "minimum", "maximum",    "$ref",     "description",          "format"};
  std::vector<std::string> problems;
  const auto add = [&](const std::string& what) { problems.push_back(path + ": " + what); };
  const auto check = [&](const json& part, const json& inside, const std::string& where) {
    const auto found = schema_problems(document, part, inside, where);
    problems.insert(problems.end(), found.begin(), found.end());
  };
  for (const auto& [key, word] : schema.items()) {
    if (!kKnown.contains(key)) add("keyword " + key + " is not checked");
  }
  if (schema.contains("$ref")) {
    const std::string target = schema["$ref"];
    if (!target.starts_with("#/")) return {path + ": reference to " + target};
    const json::json_pointer pointer(target.substr(1));
    if (!document.contains(pointer)) return {path + ": nothing at " + target};
    check(document.at(pointer), value, path);
  }
  if (schema.contains("type") && !has_type(value, schema["type"])) {
    add("is no " + schema["type"].get<std::string>());
    return problems;
  }
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    add("is none of the values allowed");
  }
  if (schema.contains("minimum") && value < schema["minimum"]) add("is too small");
  if (schema.contains("maximum") && value > schema["maximum"]) add("is too large");
  if (schema.contains("oneOf")) {
    const auto fits = [&](const json& one) {
      return schema_problems(document, one, value, path).empty();
    };
    const auto count = std::ranges::count_if(schema["oneOf"], fits);
    if (count != 1) add("fits " + std::to_string(count) + " of oneOf");
  }
  if (value.is_object()) {
    for (const json& name : schema.value("required", json::array())) {
      if (!value.contains(name)) add("lacks " + name.get<std::string>());
    }
    const json properties = schema.value("properties", json::object());
    for (const auto& [key, inside] : value.items()) {
      if (properties.contains(key)) {
        check(properties[key], inside, path + "." + key);
      } else if (schema.contains("additionalProperties") && !schema["additionalProperties"]) {
        add("has " + key);
      }
    }
  }
  if (value.is_array() && schema.contains("items")) {
    for (size_t i = 0; i < value.size(); ++i) {
      check(schema["items"], value[i], path + "[" + std::to_string(i) + "]");
    }
  }
  return problems;
}

}  // namespace vig::test
