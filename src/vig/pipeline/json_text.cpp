#include "vig/pipeline/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vig/base/printable.h"
#include "vig/base/utf8.h"

namespace vig {

std::string json_text(const Json& value, int indent) {
  const std::string text = value.dump(indent);
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
