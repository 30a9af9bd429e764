// Characters of untrusted text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vig {

// Takes one character off the front of `text`, which is not empty. Of bytes that are no UTF-8
// (overlong forms and surrogates included) it takes one and gives nothing.
std::optional<char32_t> take_character(std::string_view& text);

void append_utf8(std::string& out, char32_t code);

bool is_utf8(std::string_view text);

// The text with U+FFFD in place of what is no UTF-8: one for the bytes that begin a character and
// do not end it, else one for each byte.
std::string as_utf8(std::string_view text);

// Columns that a text takes on a terminal: two for wide East Asian characters and emoji, none for
// combining marks, one for everything else, broken bytes included.
size_t display_width(std::string_view text);

}  // namespace vig
