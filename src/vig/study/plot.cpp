#include "vig/study/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "vig/tasks/svg.h"

namespace vig::study {
namespace {

// Clear on white and on black.
constexpr const char* kPalette[] = {"#d9442b", "#3b7dd8", "#2f9e63", "#9a5bc0", "#c8860d",
                                    "#17a2b0", "#d0588f", "#7d8590", "#8f7140", "#5a6fd0"};
constexpr double kEdge = 24, kTickRoom = 62, kBetween = 26, kFont = 12;
constexpr double kLine = 17;  // height of a line of text

constexpr const char* kStyle =
    "<style>\n"
    ".page{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}\n"
    ".fine{stroke:#eef1f4}.frame{stroke:#8c959f}.halo{stroke:#fff}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".page{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#2b323b}\n"
    ".fine{stroke:#1a2029}.frame{stroke:#6e7681}.halo{stroke:#0d1117}}\n"
    "</style>\n";

bool drawable(double value, Scale scale) {
  return std::abs(value) < 1e300 && (scale == Scale::kLinear || value > 0);  // false for NaN
}

double text_width(std::string_view text, double font) { return font * svg_label(text).width; }

// 1, 2 or 5 times a power of ten, not below (`up`) or not above the value.
double nice_number(double value, bool up) {
  const double power = std::pow(10.0, std::floor(std::log10(value) + 1e-9));
  const double digit = value / power;
  if (up)
    return power * (digit <= 1.000001 ? 1 : digit <= 2.000001 ? 2 : digit <= 5.000001 ? 5 : 10);
  return power * (digit >= 4.999999 ? 5 : digit >= 1.999999 ? 2 : 1);
}

// "10 G", "200 MB", "20 ms".
std::string tick_text(double value, const PlotAxis& axis) {
  static constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "\u00b5"}};
  if (!axis.prefixes || value <= 0) {
    return fmt::format("{:.4g}{}{}", value, axis.unit.empty() ? "" : " ", axis.unit);
  }
  for (const auto& [size, prefix] : kPrefixes) {
    if (value < size * 0.999999) continue;
    const std::string unit = prefix + axis.unit;
    return fmt::format("{:.4g}{}{}", value / size, unit.empty() ? "" : " ", unit);
  }
  return fmt::format("{:.1e}", value);
}

// An axis of one panel: which values it shows, and where.
struct Placed {
  double low = 0, high = 1;
  Scale scale = Scale::kLinear;
  std::vector<double> ticks, fine;

  double place(double value) const {
    if (scale == Scale::kLinear) return (value - low) / (high - low);
    return std::log(value / low) / std::log(high / low);
  }
};

void place_log_ticks(Placed& axis) {
  const bool decades = axis.high / axis.low > 30;
  for (double power = std::pow(10.0, std::floor(std::log10(axis.low) + 1e-9));
       power <= axis.high * 1.000001; power *= 10) {
    for (int digit = 1; digit < 10; ++digit) {
      const double value = power * digit;
      if (value < axis.low * 0.999999 || value > axis.high * 1.000001) continue;
      const bool main = digit == 1 || (!decades && (digit == 2 || digit == 5));
      (main ? axis.ticks : axis.fine).push_back(value);
    }
  }
}

// All drawable values of a coordinate lie inside. `widen`: the axis ends at ticks.
template <typename Coordinate>
Placed place_axis(const PlotPanel& panel, const PlotAxis& wanted, bool widen, Coordinate of) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const PlotSeries& series : panel.series) {
    for (const auto& point : series.points) {
      if (!drawable(point.first, panel.x.scale) || !drawable(point.second, panel.y.scale)) continue;
      low = std::min(low, of(point));
      high = std::max(high, of(point));
    }
  }
  for (const double tick : wanted.ticks) {
    low = std::min(low, tick);
    high = std::max(high, tick);
  }
  const bool log = wanted.scale == Scale::kLog;
  if (low > high) low = log ? 1 : 0, high = log ? 10 : 1;  // no values
  Placed axis{low, high, wanted.scale, wanted.ticks, {}};
  if (log) {
    if (widen) axis.low = nice_number(low, false), axis.high = nice_number(high, true);
    if (axis.high < axis.low * 1.01) axis.low /= 2, axis.high *= 2;
    if (axis.ticks.empty()) place_log_ticks(axis);
    return axis;
  }
  if (high - low < 1e-9 * std::max({std::abs(low), std::abs(high), 1e-3})) low -= 0.5, high += 0.5;
  const double step = nice_number((high - low) / 4, true);
  axis.low = widen ? std::floor(low / step + 1e-6) * step : low;
  axis.high = widen ? std::ceil(high / step - 1e-6) * step : high;
  for (double i = std::ceil(axis.low / step - 1e-6); axis.ticks.empty() || i * step <= axis.high;
       ++i) {
    if (!wanted.ticks.empty() || i * step > axis.high * 1.000001 + 1e-12) break;
    axis.ticks.push_back(std::abs(i) < 1e-9 ? 0 : i * step);
  }
  return axis;
}

// Cut at spaces into lines that fit a width.
std::vector<std::string> wrapped(const std::string& text, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    // Letters are narrower than svg_label's safe guess.
    if (!line.empty() && 0.86 * text_width(line + " " + word, kFont) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    for (const PlotPanel& panel : plot.panels) {
      for (const PlotSeries& series : panel.series) {
        const bool known =
            std::ranges::find(legend_, series.name, &PlotSeries::name) != legend_.end();
        if (!known)
          legend_.push_back({series.name, {}, series.colour, series.strong, series.dashed});
      }
    }
  }

  std::string text() {
    const auto panels = static_cast<double>(std::max<size_t>(plot_.panels.size(), 1));
    const double width =
        2 * kEdge + panels * (kTickRoom + plot_.panel_width) + (panels - 1) * kBetween;
    std::string body;
    double y = kEdge + 14;
    add(body,
        "<text class=\"ink\" x=\"{}\" y=\"{:.1f}\" font-size=\"17\" "
        "font-weight=\"600\">{}</text>\n",
        kEdge, y, svg_label(plot_.title).xml);
    for (const std::string& line : wrapped(plot_.subtitle, width - 2 * kEdge)) {
      y += kLine + 2;
      add(body, "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kEdge, y,
          svg_label(line).xml);
    }
    if (!plot_.legend_per_panel) {
      y += 26;
      y += draw_legend(body, legend_, kEdge, width - kEdge, y);
    }
    y += 30;
    double below = 0;  // height of the legends
    for (size_t i = 0; i < plot_.panels.size(); ++i) {
      const double left =
          kEdge + kTickRoom + static_cast<double>(i) * (kTickRoom + plot_.panel_width + kBetween);
      draw_panel(body, plot_.panels[i], left, y + 10);
      if (!plot_.legend_per_panel) continue;
      const double top = y + 10 + plot_.panel_height + 64;
      below = std::max(below, 24 + draw_legend(body, plot_.panels[i].series, left,
                                               left + plot_.panel_width, top));
    }
    y += 10 + plot_.panel_height + 46 + below;
    for (const std::string& line : wrapped(plot_.note, width - 2 * kEdge)) {
      y += kLine;
      add(body, "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kEdge, y,
          svg_label(line, 400).xml);
    }
    const double height = y + kEdge - 6;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"system-ui, -apple-system, "
               "'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"{2}\">\n{3}"
               "<rect class=\"page\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n",
               width, height, kFont, kStyle) +
           body + "</svg>\n";
  }

 private:
  template <typename... Args>
  static void add(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  }

  const char* colour(const std::string& name) const {
    const auto found = std::ranges::find(legend_, name, &PlotSeries::name);
    const auto place = static_cast<size_t>(
        found->colour >= 0 ? found->colour : static_cast<int>(found - legend_.begin()));
    return kPalette[place % std::size(kPalette)];
  }

  static std::string stroke(const PlotSeries& series) {
    return fmt::format("stroke-width=\"{}\"{}", series.strong ? "3.2" : "1.9",
                       series.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  // Between two edges, from y on; gives the height of the lines after the first.
  double draw_legend(std::string& out, const std::vector<PlotSeries>& all, double left,
                     double right, double y) const {
    double x = left, more = 0;
    for (const PlotSeries& series : all) {
      const double room = 34 + 0.9 * text_width(series.name, kFont) + 28;
      if (x > left && x + room - 20 > right) x = left, more += kLine + 3;
      add(out, "<path d=\"M{:.1f} {:.1f}h26\" fill=\"none\" stroke=\"{}\" {}/>\n", x, y + more - 4,
          colour(series.name), stroke(series));
      add(out, "<text class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x + 33, y + more,
          series.strong ? " font-weight=\"600\"" : "", svg_label(series.name, 60).xml);
      x += room;
    }
    return more;
  }

  void draw_panel(std::string& out, const PlotPanel& panel, double left, double top) const {
    const double width = plot_.panel_width, height = plot_.panel_height;
    const Placed x = place_axis(panel, panel.x, false, [](const auto& p) { return p.first; });
    const Placed y = place_axis(panel, panel.y, true, [](const auto& p) { return p.second; });
    constexpr double kPad = 14;  // so that points do not lie on the frame
    const auto at_x = [&](double v) { return left + kPad + (width - 2 * kPad) * x.place(v); };
    const auto at_y = [&](double v) { return top + height * (1 - y.place(v)); };
    add(out,
        "<text class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"13\" "
        "font-weight=\"600\">{}</text>\n",
        left, top - 10, svg_label(panel.title, 60).xml);
    for (const double v : y.fine) {
      add(out, "<path class=\"fine\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", left, at_y(v), width);
    }
    for (const double v : y.ticks) {
      add(out, "<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", left, at_y(v), width);
      add(out, "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          left - 7, at_y(v) + 4, tick_text(v, panel.y));
    }
    double last = -1e9;
    for (const double v : x.ticks) {
      add(out, "<path class=\"frame\" d=\"M{:.1f} {:.1f}v5\"/>\n", at_x(v), top + height);
      const std::string label = tick_text(v, panel.x);
      if (at_x(v) - last < text_width(label, kFont) + 3) continue;
      last = at_x(v);
      add(out, "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          at_x(v), top + height + 19, label);
    }
    add(out, "<path class=\"frame\" fill=\"none\" d=\"M{:.1f} {:.1f}v{:.1f}h{:.1f}\"/>\n", left,
        top, height, width);
    add(out, "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        left + width / 2, top + height + 38, svg_label(panel.x.label, 80).xml);
    // What the image is about is drawn last, over the others.
    for (const bool strong : {false, true}) {
      for (const PlotSeries& series : panel.series) {
        if (series.strong == strong) draw_series(out, panel, series, at_x, at_y);
      }
    }
    for (const PlotGap& gap : panel.gaps) {
      if (!drawable(gap.from, panel.y.scale) || !drawable(gap.to, panel.y.scale)) continue;
      draw_gap(out, gap, at_x(gap.x), at_y(gap.from), at_y(gap.to));
    }
  }

  template <typename AtX, typename AtY>
  void draw_series(std::string& out, const PlotPanel& panel, const PlotSeries& series,
                   const AtX& at_x, const AtY& at_y) const {
    std::string line, points;
    bool joined = false;
    for (const auto& [px, py] : series.points) {
      if (!drawable(px, panel.x.scale) || !drawable(py, panel.y.scale)) {
        joined = false;
        continue;
      }
      add(line, "{}{:.1f} {:.1f}", joined ? "L" : "M", at_x(px), at_y(py));
      add(points,
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}: {}, {}</title>"
          "</circle>\n",
          at_x(px), at_y(py), series.strong ? "4" : "3", colour(series.name),
          svg_label(series.name).xml, svg_label(tick_text(px, panel.x)).xml,
          svg_label(tick_text(py, panel.y)).xml);
      joined = true;
    }
    if (line.empty()) return;
    add(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" {} stroke-linejoin=\"round\"/>\n", line,
        colour(series.name), stroke(series));
    out += points;
  }

  static void draw_gap(std::string& out, const PlotGap& gap, double x, double from, double to) {
    add(out,
        "<path class=\"frame\" fill=\"none\" stroke-width=\"1.2\" stroke-dasharray=\"2 3\" "
        "d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
        x, from, to);
    // Beside the line; with notes below its lower end, where curves that rise leave room.
    constexpr double kNoteLine = 12;
    double y = gap.notes.empty() ? (from + to) / 2 + 5 : std::max(from, to) + 17;
    add(out,
        "<text class=\"ink halo\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"14\" "
        "font-weight=\"700\" stroke-width=\"4\" paint-order=\"stroke\">{}</text>\n",
        x + 7, y, svg_label(gap.text, 40).xml);
    for (const std::string& note : gap.notes) {
      y += kNoteLine;
      add(out,
          "<text class=\"ink halo\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10.5\" "
          "stroke-width=\"4\" paint-order=\"stroke\">{}</text>\n",
          x + 7, y, svg_label(note, 40).xml);
    }
  }

  const Plot& plot_;
  std::vector<PlotSeries> legend_;  // one of each name, without points
};

}  // namespace

std::string plot_svg(const Plot& plot) { return Drawing(plot).text(); }

}  // namespace vig::study
