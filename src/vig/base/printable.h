// Names from untrusted files, made fit for a message on a terminal.
#pragma once

#include <fmt/format.h>

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

}  // namespace vig
