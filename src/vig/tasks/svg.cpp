#include "vig/tasks/svg.h"

#include <fmt/format.h>

#include "vig/base/utf8.h"

namespace vig {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// Takes one character off the front of `text`; what XML cannot hold comes as a replacement.
char32_t take_xml_character(std::string_view& text) {
  const char32_t code = take_character(text).value_or(kReplacement);
  const bool in_xml = code >= 0x20 && code != 0x7f && code != 0xfffe && code != 0xffff;
  return in_xml ? code : kReplacement;
}

void append_escaped(std::string& out, char32_t code) {
  switch (code) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      append_utf8(out, code);
  }
}

}  // namespace

SvgLabel svg_label(std::string_view text, size_t most) {
  SvgLabel label;
  for (size_t count = 0; !text.empty(); ++count) {
    char32_t code = take_xml_character(text);
    if (count + 1 == most && !text.empty()) {
      code = U'\u2026';  // ellipsis
      text = {};
    }
    append_escaped(label.xml, code);
    label.width += code < 0x1100 ? 0.6 : 1;  // most of what lies above is drawn in squares
  }
  return label;
}

std::string svg_head(double width, double height, double font_size, std::string_view title,
                     double x) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"{2:.1f}\" "
      "fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{3:.1f}\" y=\"24\" font-size=\"15\">{4}</text>\n",
      width, height, font_size, x, svg_label(title).xml);
}

}  // namespace vig
