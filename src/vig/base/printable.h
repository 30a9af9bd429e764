// Names from untrusted files, made fit for a message on a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vig {

// What could steer a terminal becomes \xNN for each of its bytes: control characters (C0, DEL and
// C1, also C1 as UTF-8), marks that turn the direction of writing, and bytes that are no
// UTF-8. A text of more than `limit` bytes is cut between characters and ends in "...".
std::string printable(std::string_view text, size_t limit = 120);

// The same of a whole text of several lines; their ends stay.
std::string printable_lines(std::string_view text);

// "ant, bee, cat and 7 more"
std::string printable_list(std::span<const std::string> names, size_t most);

}  // namespace vig
