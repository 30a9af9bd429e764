// What every SVG that is written here begins with: safe text, the opening tag, a light background.
#pragma once

#include <string>
#include <string_view>

namespace vig {

// Any bytes as text for SVG: & < > " ' are escaped, and what XML
// cannot hold (control characters, broken UTF-8) becomes U+FFFD.
struct SvgLabel {
  std::string xml;
  double width = 0;  // in font sizes, roughly: no font is at hand to measure with
};
// Longer than `most` characters, it is cut and ends in an ellipsis.
SvgLabel svg_label(std::string_view text, size_t most = 200);

// The opening tag, the background, and the title from x on.
std::string svg_head(double width, double height, double font_size, std::string_view title,
                     double x);

}  // namespace vig
