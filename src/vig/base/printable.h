// Names from untrusted files, made fit for a message on a terminal.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

namespace vig {

// Control characters become \xNN (a file must not steer the terminal); long names are cut.
inline std::string printable(std::string_view text, size_t limit = 120) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

// "ant, bee, cat and 7 more"
inline std::string printable_list(std::span<const std::string> names, size_t most) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < most; ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i], 40);
  }
  if (names.size() > most) out += fmt::format(" and {} more", names.size() - most);
  return out;
}

}  // namespace vig
