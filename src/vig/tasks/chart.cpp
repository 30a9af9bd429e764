#include "vig/tasks/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "vig/tasks/chart_axis.h"
#include "vig/tasks/svg.h"

namespace vig {
namespace {

// Clear on white and on black.
constexpr const char* kPalette[] = {"#d9442b", "#3b7dd8", "#2f9e63", "#9a5bc0", "#c8860d",
                                    "#17a2b0", "#d0588f", "#7d8590", "#8f7140", "#5a6fd0"};
constexpr double kEdge = 24, kTickRoom = 62, kBetween = 26, kFont = 12;
constexpr double kLine = 17;      // height of a line of text
constexpr double kAxisRoom = 46;  // below a panel, for values and label of its x axis
constexpr double kDotRoom = 12;   // of a point that is drawn
constexpr size_t kNameLength = 60;

constexpr const char* kStyle =
    "<style>\n"
    ".page{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}\n"
    ".fine{stroke:#eef1f4}.frame{stroke:#8c959f}.halo{stroke:#fff}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".page{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#2b323b}\n"
    ".fine{stroke:#1a2029}.frame{stroke:#6e7681}.halo{stroke:#0d1117}}\n"
    "</style>\n";

double label_width(std::string_view text, double font) { return font * svg_label(text).width; }

// Cut at spaces into lines that fit a width.
std::vector<std::string> wrapped(const std::string& text, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    // Letters are narrower than svg_label's safe guess.
    if (!line.empty() && 0.86 * label_width(line + " " + word, kFont) > width) {
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
  explicit Drawing(const Chart& chart) : chart_(chart) {
    for (const ChartPanel& panel : chart.panels) {
      for (const ChartSeries& series : panel.series) {
        const bool known =
            std::ranges::find(legend_, series.name, &ChartSeries::name) != legend_.end();
        if (!known)
          legend_.push_back({series.name, {}, series.colour, series.strong, series.dashed});
      }
    }
  }

  std::string text() {
    const auto columns = stacked() ? 1 : static_cast<double>(std::max<size_t>(count(), 1));
    const double width = 2 * kEdge + columns * (kTickRoom + chart_.panel_width) +
                         (columns - 1) * kBetween + (stacked() ? 12 + widest_name() : 0);
    std::string body;
    double y = kEdge + 14;
    add(body,
        "<text class=\"ink\" x=\"{}\" y=\"{:.1f}\" font-size=\"17\" "
        "font-weight=\"600\">{}</text>\n",
        kEdge, y, svg_label(chart_.title).xml);
    y = draw_lines(body, chart_.subtitle, width, y, kLine + 2);
    if (chart_.layout == ChartLayout::kRow) {
      y += 26;
      y += draw_legend(body, legend_, kEdge, width - kEdge, y);
    }
    y += 40;
    y = stacked() ? draw_stack(body, y) : draw_row(body, y);
    y = draw_lines(body, chart_.note, width, y, kLine);
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
  bool stacked() const { return chart_.layout == ChartLayout::kStack; }
  size_t count() const { return chart_.panels.size(); }
  double height(const ChartPanel& panel) const {
    return panel.height > 0 ? panel.height : chart_.panel_height;
  }

  // Of an entry of the legend.
  static double entry_width(const ChartSeries& series) {
    return 34 + 0.9 * kFont * svg_label(series.name, kNameLength).width;
  }
  double widest_name() const {
    double widest = 0;
    for (const ChartSeries& series : legend_) widest = std::max(widest, entry_width(series));
    return widest;
  }

  // Below y, on as many lines as the width takes; gives the y of the last.
  static double draw_lines(std::string& out, const std::string& text, double width, double y,
                           double distance) {
    for (const std::string& line : wrapped(text, width - 2 * kEdge)) {
      y += distance;
      add(out, "<text class=\"soft\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kEdge, y,
          svg_label(line, 400).xml);
    }
    return y;
  }

  // The panels from y on; both give the y below them.
  double draw_row(std::string& out, double y) const {
    double tallest = chart_.panel_height, below = 0;
    for (const ChartPanel& panel : chart_.panels) tallest = std::max(tallest, height(panel));
    for (size_t i = 0; i < count(); ++i) {
      const ChartPanel& panel = chart_.panels[i];
      const double left =
          kEdge + kTickRoom + static_cast<double>(i) * (kTickRoom + chart_.panel_width + kBetween);
      draw_panel(out, panel, value_range({&panel, 1}, Coordinate::kX), left, y, true);
      if (chart_.layout != ChartLayout::kRowLegends) continue;
      below = std::max(below, 24 + draw_legend(out, panel.series, left, left + chart_.panel_width,
                                               y + tallest + 64));
    }
    return y + tallest + kAxisRoom + below;
  }
  double draw_stack(std::string& out, double y) const {
    const ValueRange x = value_range(chart_.panels, Coordinate::kX);
    const double left = kEdge + kTickRoom, right = left + chart_.panel_width;
    for (size_t i = 0; i < count(); ++i) {
      const ChartPanel& panel = chart_.panels[i];
      draw_panel(out, panel, x, left, y, i + 1 == count());
      draw_legend(out, panel.series, right + 12, right + 12, y + 12);  // one below the other
      y += height(panel) + (i + 1 == count() ? kAxisRoom : 36);
    }
    return y;
  }

  template <typename... Args>
  static void add(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  }

  const char* colour(const std::string& name) const {
    const auto found = std::ranges::find(legend_, name, &ChartSeries::name);
    const auto index = static_cast<size_t>(
        found->colour >= 0 ? found->colour : static_cast<int>(found - legend_.begin()));
    return kPalette[index % std::size(kPalette)];
  }

  static std::string stroke(const ChartSeries& series) {
    return fmt::format("stroke-width=\"{}\"{}", series.strong ? "3.2" : "1.9",
                       series.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }

  // Between two edges, from y on; gives the height of the lines after the first.
  double draw_legend(std::string& out, const std::vector<ChartSeries>& all, double left,
                     double right, double y) const {
    double x = left, more = 0;
    for (const ChartSeries& series : all) {
      const double room = entry_width(series) + 28;
      if (x > left && x + room - 20 > right) x = left, more += kLine + 3;
      add(out, "<path d=\"M{:.1f} {:.1f}h26\" fill=\"none\" stroke=\"{}\" {}/>\n", x, y + more - 4,
          colour(series.name), stroke(series));
      add(out, "<text class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x + 33, y + more,
          series.strong ? " font-weight=\"600\"" : "", svg_label(series.name, kNameLength).xml);
      x += room;
    }
    return more;
  }

  // Its frame begins at (left, top). `labels`: of the x axis, too.
  void draw_panel(std::string& out, const ChartPanel& panel, const ValueRange& xs, double left,
                  double top, bool labels) const {
    const double width = chart_.panel_width, height = this->height(panel);
    const ScaledAxis x = scale_axis(panel.x, xs, false);
    const ScaledAxis y = scale_axis(panel.y, value_range({&panel, 1}, Coordinate::kY), true);
    constexpr double kPad = 14;  // so that points do not lie on the frame
    const auto at_x = [&](double v) { return left + kPad + (width - 2 * kPad) * x.position(v); };
    const auto at_y = [&](double v) { return top + height * (1 - y.position(v)); };
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
          left - 7, at_y(v) + 4, tick_text(v, panel.y, y.step));
    }
    double last = -1e9;
    for (const double v : x.ticks) {
      add(out, "<path class=\"frame\" d=\"M{:.1f} {:.1f}v5\"/>\n", at_x(v), top + height);
      const std::string label = tick_text(v, panel.x, x.step);
      if (!labels || at_x(v) - last < label_width(label, kFont) + 3) continue;
      last = at_x(v);
      add(out, "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          at_x(v), top + height + 19, label);
    }
    add(out, "<path class=\"frame\" fill=\"none\" d=\"M{:.1f} {:.1f}v{:.1f}h{:.1f}\"/>\n", left,
        top, height, width);
    if (labels) {
      add(out, "<text class=\"soft\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          left + width / 2, top + height + 38, svg_label(panel.x.label, 80).xml);
    }
    // What the image is about is drawn last, over the others.
    for (const bool strong : {false, true}) {
      for (const ChartSeries& series : panel.series) {
        if (series.strong == strong) draw_series(out, panel, series, at_x, at_y);
      }
    }
    for (const ChartGap& gap : panel.gaps) {
      if (!drawable(gap.from, panel.y.scale) || !drawable(gap.to, panel.y.scale)) continue;
      draw_gap(out, gap, at_x(gap.x), at_y(gap.from), at_y(gap.to));
    }
    if (panel.mark.has_value() && drawable({panel.mark->x, panel.mark->y}, panel)) {
      draw_mark(out, panel, left, top, at_x(panel.mark->x), at_y(panel.mark->y));
    }
  }

  template <typename AtX, typename AtY>
  void draw_series(std::string& out, const ChartPanel& panel, const ChartSeries& series,
                   const AtX& at_x, const AtY& at_y) const {
    // Many points would hide their curve: then only those without a neighbour are drawn.
    const bool few = static_cast<double>(series.points.size()) * kDotRoom <= chart_.panel_width;
    const auto is_point = [&](size_t i) {
      return i < series.points.size() && drawable(series.points[i], panel);
    };
    std::string line, dots;
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (!is_point(i)) continue;
      const auto& [px, py] = series.points[i];
      const bool connected = i > 0 && is_point(i - 1);
      add(line, "{}{:.1f} {:.1f}", connected ? "L" : "M", at_x(px), at_y(py));
      if (!few && (connected || is_point(i + 1))) continue;
      add(dots,
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}: {}, {}</title>"
          "</circle>\n",
          at_x(px), at_y(py), series.strong ? "4" : "3", colour(series.name),
          svg_label(series.name).xml, svg_label(tick_text(px, panel.x, 0)).xml,
          svg_label(tick_text(py, panel.y, 0)).xml);
    }
    if (line.empty()) return;
    add(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" {} stroke-linejoin=\"round\"/>\n", line,
        colour(series.name), stroke(series));
    out += dots;
  }

  // A ring, a line through the panel, and the text above it, beside the title.
  void draw_mark(std::string& out, const ChartPanel& panel, double left, double top, double x,
                 double y) const {
    const SvgLabel label = svg_label(panel.mark->text, 60);
    const double half = 0.45 * kFont * label.width;
    const double title = panel.title.empty() ? 0 : label_width(panel.title, 13) + 10;
    const double from = left + title + half;
    const double to = left + chart_.panel_width - half;
    add(out,
        "<path class=\"frame\" fill=\"none\" stroke-dasharray=\"3 3\" "
        "d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n"
        "<circle class=\"page frame\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" "
        "stroke-width=\"2\"/>\n"
        "<text class=\"ink\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        x, top, height(panel), x, y, std::max(from, std::min(x, to)), top - 10, label.xml);
  }

  static void draw_gap(std::string& out, const ChartGap& gap, double x, double from, double to) {
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

  const Chart& chart_;
  std::vector<ChartSeries> legend_;  // one of each name, without points
};

}  // namespace

std::string chart_svg(const Chart& chart) { return Drawing(chart).text(); }

}  // namespace vig
