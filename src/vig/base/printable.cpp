#include "vig/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "vig/base/utf8.h"

namespace vig {
namespace {

constexpr size_t kNoLimit = std::string_view::npos;

bool steers(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||  // Arabic letter mark
         (code >= 0x200e && code <= 0x200f) ||  // marks, embeddings, overrides and isolates of
         (code >= 0x2028 && code <= 0x202e) ||  // direction; separators of lines and paragraphs
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(std::string_view text, size_t limit, bool keep_lines) {
  std::string out;
  out.reserve(std::min(limit, text.size()));
  size_t taken = 0;
  while (!text.empty()) {
    std::string_view rest = text;
    const std::optional<char32_t> code = take_character(rest);
    const std::string_view bytes = text.substr(0, text.size() - rest.size());
    if (taken + bytes.size() > limit) return out + "...";
    taken += bytes.size();
    text = rest;
    if (code && (!steers(*code) || (keep_lines && *code == U'\n'))) {
      out += bytes;
      continue;
    }
    for (const char byte : bytes) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, size_t limit) { return escaped(text, limit, false); }

std::string printable_lines(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; });
  return plain ? std::string(text) : escaped(text, kNoLimit, true);
}

std::string printable_list(std::span<const std::string> names, size_t most) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < most; ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i], 40);
  }
  if (names.size() > most) out += fmt::format(" and {} more", names.size() - most);
  return out;
}

}  // namespace vig
