// Images of numbers as SVG: one text that needs no script, font or link, on a light background.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vig {

// A text fit to stand in SVG, whatever bytes it came from: & < > " ' are escaped, and what XML
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

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y) in order of x; not finite: a gap
};

// A point that is pointed out.
struct ChartMark {
  double x = 0, y = 0;
  std::string text;
};

// Curves over one pair of axes.
struct ChartPanel {
  std::string y_label;
  std::vector<Series> series;
  std::optional<ChartMark> mark = {};
  double height = 220;
};

// Panels below each other over one range of x: a panel for the loss, one for the accuracy. `note`
// stands below them, on as many lines as it needs.
std::string line_chart_svg(std::string_view title, std::string_view x_label,
                           std::span<const ChartPanel> panels, std::string_view note = {});

}  // namespace vig
