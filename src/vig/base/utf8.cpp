#include "vig/base/utf8.h"

#include <algorithm>
#include <iterator>

namespace vig {
namespace {

struct Range {
  char32_t first, last;
};

// Of Unicode's general categories Mn, Me and Cf: the blocks of the scripts in wide use.
constexpr Range kNoWidth[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
    {0x05c4, 0x05c5},   {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc},
    {0x06df, 0x06e4},   {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0900, 0x0902}, {0x093a, 0x093a},
    {0x093c, 0x093c},   {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0951, 0x0957}, {0x0962, 0x0963},
    {0x0e31, 0x0e31},   {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200b, 0x200f},   {0x202a, 0x202e}, {0x2060, 0x206f}, {0x20d0, 0x20f0}, {0x302a, 0x302d},
    {0x3099, 0x309a},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff},
    {0xe0100, 0xe01ef},
};

// East Asian Width W and F, and emoji.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
    {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26aa, 0x26ab},
    {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},
    {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff},
    {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
    {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c},
    {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3e0, 0x1f3f0}, {0x1f400, 0x1f43e},
    {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f550, 0x1f567},
    {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6eb, 0x1f6ec}, {0x1f7e0, 0x1f7eb},
    {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x2fffd}, {0x30000, 0x3fffd},
};

template <size_t count>
bool within(const Range (&ranges)[count], char32_t code) {
  const Range* after = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                        [](char32_t c, const Range& r) { return c < r.first; });
  return after != std::begin(ranges) && code <= std::prev(after)->last;
}

// Bytes at the front of `text` that could begin a character; the text begins with none.
size_t broken_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t most = first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 1;
  const unsigned least_second = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned last_second = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  size_t count = 1;
  while (count < std::min(most, text.size()) && byte(count) >= (count == 1 ? least_second : 0x80) &&
         byte(count) <= (count == 1 ? last_second : 0xbf)) {
    ++count;
  }
  return count;
}

}  // namespace

std::optional<char32_t> take_character(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  char32_t code = length <= 1 ? first : first & (0x7fu >> length);
  bool good = length != 0 && length <= text.size();
  for (size_t i = 1; good && i < length; ++i) {
    good = (byte(i) & 0xc0u) == 0x80u;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  good = good && code >= kSmallest[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  text.remove_prefix(good ? length : 1);
  if (!good) return std::nullopt;
  return code;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (!take_character(text)) return false;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view rest = text;
    if (take_character(rest)) {
      out += text.substr(0, text.size() - rest.size());
      text = rest;
    } else {
      append_utf8(out, 0xfffd);
      text.remove_prefix(broken_bytes(text));
    }
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const char32_t code = take_character(text).value_or(U' ');
    if (code < 0x300) {
      ++width;
    } else {
      width += within(kNoWidth, code) ? 0 : within(kWide, code) ? 2 : 1;
    }
  }
  return width;
}

}  // namespace vig
