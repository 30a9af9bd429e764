#include "vig/pipeline/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "vig/base/printable.h"
#include "vig/base/utf8.h"

namespace vig {
namespace {

// The same JSON with every number as short as it can be: the library's own digits are not always
// the fewest that read back to the same double.
std::string with_short_numbers(const std::string& text) {
  constexpr size_t kAlwaysShort = 16;  // characters; what may be too long has 17 digits
  const auto in_number = [](char c) {
    return std::string_view("+-.eE0123456789").find(c) != std::string_view::npos;
  };
  const auto starts_number = [](char c) { return c == '-' || (c >= '0' && c <= '9'); };
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      ++end;
    } else if (starts_number(text[at])) {
      while (end < text.size() && in_number(text[end])) ++end;
    }
    std::string token = text.substr(at, end - at);
    if (end - at > kAlwaysShort && starts_number(text[at]) &&
        token.find('.') != std::string::npos) {
      const std::string shortest = fmt::format("{}", std::strtod(token.c_str(), nullptr));
      if (shortest.size() < token.size()) token = shortest;
    }
    result += token;
    at = end;
  }
  return result;
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  const std::string text =
      with_short_numbers(value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
  if (printable_lines(text) == text) return text;
  // What steers a terminal stands in strings alone, where an escape means the same.
  std::string safe;
  safe.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view before = rest;
    const char32_t code = take_character(rest).value_or(0xfffd);
    const std::string_view bytes = before.substr(0, before.size() - rest.size());
    if (code >= 0x7f && printable(bytes) != bytes) {
      safe += fmt::format("\\u{:04x}", static_cast<uint32_t>(code));
    } else {
      safe += bytes;
    }
  }
  return safe;
}

double short_number(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

}  // namespace vig
