#include "vig/tasks/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

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

// An interval that all values fit in, and where it is marked.
struct Axis {
  double low = 0, high = 1;
  double step = 1;
  double first = 0;  // of the marks
  int marks = 0;

  double place(double value) const { return (value - low) / (high - low); }
  double mark(int i) const { return first + i * step; }
};

// 1, 2 or 5 times a power of ten, so that about five fit into `range`.
double nice_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power;
  return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

bool drawable(double value) { return std::abs(value) < 1e300; }  // false for NaN, too

// `widen`: the interval ends at marks. Otherwise whole numbers (epochs) are marked at whole
// numbers.
Axis make_axis(double low, double high, bool whole, bool widen) {
  if (low > high) return {0, 1, 0.2, 0, 6};  // no values
  const double least = std::max({std::abs(low), std::abs(high), 1e-3}) * 1e-9;
  if (high - low < least) {  // one value
    const double room = std::abs(low) * 0.1;
    low -= room;
    high += low == 0 ? 1 : room;
  }
  Axis axis{low, high, nice_step(high - low), 0, 0};
  if (whole && !widen) axis.step = std::max(axis.step, 1.0);
  // The rounding of a division must not lose a mark, nor add one.
  const double begin = low / axis.step, end = high / axis.step;
  axis.first = (widen ? std::floor(begin + 1e-6) : std::ceil(begin - 1e-6)) * axis.step;
  const double last = (widen ? std::ceil(end - 1e-6) : std::floor(end + 1e-6)) * axis.step;
  axis.marks = static_cast<int>(std::lround((last - axis.first) / axis.step)) + 1;
  if (widen) {
    axis.low = axis.first;
    axis.high = last;
  }
  return axis;
}

template <typename Coordinate>
Axis axis_of(std::span<const ChartPanel> panels, bool widen, Coordinate coordinate) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool whole = true;
  for (const ChartPanel& panel : panels) {
    for (const Series& series : panel.series) {
      for (const auto& point : series.points) {
        if (!drawable(point.first) || !drawable(point.second)) continue;
        const double value = coordinate(point);
        low = std::min(low, value);
        high = std::max(high, value);
        whole = whole && value == std::round(value);
      }
    }
  }
  return make_axis(low, high, whole, widen);
}

std::string mark_text(const Axis& axis, int i) {
  const double value = std::abs(axis.mark(i)) < axis.step * 1e-6 ? 0 : axis.mark(i);
  if (axis.step < 0.9e-5 || std::abs(value) >= 1e7) return fmt::format("{:.6g}", value);
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(axis.step) + 1e-6)));
  return fmt::format("{:.{}f}", value, digits);
}

constexpr const char* kColours[] = {"#1f5fa8", "#d1581b", "#2f8f4e", "#8e4aa8",
                                    "#b8336a", "#7a6a1f", "#2a9aa8", "#555555"};
constexpr double kLeft = 76, kTop = 44, kWidth = 560, kBetween = 28, kBelow = 56;
constexpr double kLabelFont = 12, kNoteLine = 16;

// A point, a line through the panel, and the text above the panel, where no curve is.
std::string mark_svg(const ChartMark& mark, double x, double y, double top, double bottom) {
  const SvgLabel label = svg_label(mark.text, 60);
  const double half = std::min(kLabelFont * label.width, kWidth) / 2;
  return fmt::format(
      "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#888\" stroke-dasharray=\"3 3\"/>\n"
      "<circle cx=\"{0:.1f}\" cy=\"{3:.1f}\" r=\"4\" fill=\"#fff\" stroke=\"#222\" "
      "stroke-width=\"1.5\"/>\n"
      "<text x=\"{4:.1f}\" y=\"{5:.1f}\" text-anchor=\"middle\">{6}</text>\n",
      x, top, bottom, y, std::clamp(x, kLeft + half, kLeft + kWidth - half), top - 7, label.xml);
}

// Cut at spaces into lines of at most `most` characters, where that can be.
std::vector<std::string_view> lines_of(std::string_view text, size_t most) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.size();
    if (end > most) {
      end = text.rfind(' ', most);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The panel's corner is (kLeft, top).
std::string panel_svg(const ChartPanel& panel, const Axis& x, double top, bool last) {
  const Axis y = axis_of({&panel, 1}, true, [](const auto& point) { return point.second; });
  const auto at_x = [&](double value) { return kLeft + kWidth * x.place(value); };
  const auto at_y = [&](double value) { return top + panel.height * (1 - y.place(value)); };
  std::string svg;
  const auto out = std::back_inserter(svg);
  for (int i = 0; i < y.marks; ++i) {
    const double height = at_y(y.mark(i));
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#e3e3e3\"/>\n", kLeft, height,
                   kLeft + kWidth);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                   kLeft - 6, height + 4, mark_text(y, i));
  }
  for (int i = 0; i < x.marks; ++i) {
    const double place = at_x(x.mark(i));
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}v-5\" stroke=\"#888\"/>\n", place,
                   top + panel.height);
    if (!last) continue;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", place,
                   top + panel.height + 16, mark_text(x, i));
  }
  fmt::format_to(out,
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                 "fill=\"none\" stroke=\"#888\"/>\n",
                 kLeft, top, kWidth, panel.height);
  fmt::format_to(out, "<text transform=\"translate(14 {:.1f}) rotate(-90)\" {}>{}</text>\n",
                 top + panel.height / 2, "text-anchor=\"middle\"",
                 svg_label(panel.y_label, 40).xml);
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const Series& series = panel.series[s];
    const char* colour = kColours[s % std::size(kColours)];
    for (size_t i = 0; i < series.points.size(); ++i) {
      std::string line;
      size_t joined = 0;
      double px = 0, py = 0;
      for (; i < series.points.size(); ++i, ++joined) {
        if (!drawable(series.points[i].first) || !drawable(series.points[i].second)) break;
        px = at_x(series.points[i].first);
        py = at_y(series.points[i].second);
        line += fmt::format("{}{:.1f} {:.1f}", joined == 0 ? "M" : "L", px, py);
      }
      if (joined == 1) {
        fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", px, py,
                       colour);
      } else if (joined > 1) {
        fmt::format_to(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n",
                       line, colour);
      }
    }
    const double legend = top + 12 + 18 * static_cast<double>(s);
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h18\" stroke=\"{}\" stroke-width=\"3\"/>\n",
                   kLeft + kWidth + 12, legend, colour);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\">{}</text>\n",
                   kLeft + kWidth + 36, legend + 4, kLabelFont, svg_label(series.name, 32).xml);
  }
  if (panel.mark.has_value() && drawable(panel.mark->x) && drawable(panel.mark->y)) {
    svg += mark_svg(*panel.mark, at_x(panel.mark->x), at_y(panel.mark->y), top, top + panel.height);
  }
  return svg;
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

std::string line_chart_svg(std::string_view title, std::string_view x_label,
                           std::span<const ChartPanel> panels, std::string_view note) {
  const Axis x = axis_of(panels, false, [](const auto& point) { return point.first; });
  double legend = 0, bottom = kTop - kBetween;
  for (const ChartPanel& panel : panels) {
    bottom += panel.height + kBetween;
    for (const Series& series : panel.series) {
      legend = std::max(legend, kLabelFont * svg_label(series.name, 32).width);
    }
  }
  const double width = kLeft + kWidth + 48 + legend;
  const std::vector<std::string_view> notes = lines_of(note, 100);
  const double height = bottom + kBelow + kNoteLine * static_cast<double>(notes.size());
  std::string svg = svg_head(width, height, kLabelFont, title, kLeft);
  double top = kTop;
  for (size_t i = 0; i < panels.size(); ++i) {
    svg += panel_svg(panels[i], x, top, i + 1 == panels.size());
    top += panels[i].height + kBetween;
  }
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                     kLeft + kWidth / 2, bottom + 38, svg_label(x_label, 80).xml);
  for (size_t i = 0; i < notes.size(); ++i) {
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#555\">{}</text>\n", kLeft,
                    bottom + kBelow + kNoteLine * static_cast<double>(i), svg_label(notes[i]).xml);
  }
  return svg + "</svg>\n";
}

}  // namespace vig
