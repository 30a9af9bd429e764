#include "vig/tasks/confusion_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "vig/base/error.h"
#include "vig/tasks/svg.h"

namespace vig {
namespace {

constexpr size_t kNameLength = 24;

// Squares of a size at which names of their height can still be read.
struct Layout {
  double cell, name_font, count_font;

  explicit Layout(int classes)
      : cell(std::clamp(640.0 / std::max(classes, 1), 10.0, 56.0)),
        name_font(std::min(13.0, 0.8 * cell)),
        count_font(std::min(13.0, 0.45 * cell)) {}

  bool fits(int64_t count) const {
    const double digits = static_cast<double>(fmt::formatted_size("{}", count));
    return count_font >= 7 && 0.6 * count_font * digits <= cell - 2;
  }
};

// From white to the full colour. The root lets single mistakes among many pictures show.
std::string shade(double share, bool right) {
  constexpr double kBlue[] = {23, 78, 148}, kRed[] = {184, 48, 24};
  const double strength = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto channel = [&](int i) {
    return static_cast<int>(std::lround(255 + strength * ((right ? kBlue : kRed)[i] - 255)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2));
}

}  // namespace

std::string confusion_svg(const ClassificationMetrics& metrics, std::span<const std::string> names,
                          std::string_view title) {
  const int classes = metrics.classes;
  if (!names.empty() && names.size() != static_cast<size_t>(classes)) {
    fail("[confusion] {} class names for {} classes", names.size(), classes);
  }
  std::vector<SvgLabel> labels;
  for (int i = 0; i < classes; ++i) {
    labels.push_back(names.empty() ? svg_label(fmt::format("{}", i))
                                   : svg_label(names[static_cast<size_t>(i)], kNameLength));
  }
  const auto name_of = [&](int i) -> const std::string& { return labels[size_t(i)].xml; };
  double widest = 0;
  for (const SvgLabel& label : labels) widest = std::max(widest, label.width);

  const Layout layout(classes);
  const double side = layout.cell * classes;
  const double names_room = widest * layout.name_font + 12;
  const double left = 24 + names_room, top = 56 + names_room;
  const double title_width = 15 * svg_label(title).width;
  const double width = std::max(left + side, 16 + title_width) + 16, height = top + side + 16;

  std::string svg = svg_head(width, height, layout.name_font, title, 16);
  const auto out = std::back_inserter(svg);
  fmt::format_to(
      out,
      "<text x=\"{:.1f}\" y=\"46\" font-size=\"12\" text-anchor=\"middle\">answer</text>\n"
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" font-size=\"12\" "
      "text-anchor=\"middle\">label</text>\n",
      left + side / 2, top + side / 2);
  for (int i = 0; i < classes; ++i) {
    const double middle = (i + 0.5) * layout.cell + 0.35 * layout.name_font;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6,
                   top + middle, name_of(i));
    fmt::format_to(out, "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n",
                   left + middle, top - 6, name_of(i));
  }
  const std::vector<ClassMetrics> rows = metrics.per_class();
  for (const auto& [pair, count] : metrics.confusion) {
    const auto [label, answer] = pair;
    const int64_t row = rows[static_cast<size_t>(label)].count;
    const double share = static_cast<double>(count) / static_cast<double>(row);
    const double x = left + answer * layout.cell, y = top + label * layout.cell;
    fmt::format_to(out,
                   "<g><title>{} taken for {}: {} of {}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" "
                   "width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
                   name_of(label), name_of(answer), count, row, x, y, layout.cell, layout.cell,
                   shade(share, label == answer));
    if (layout.fits(count)) {
      fmt::format_to(out,
                     "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" "
                     "text-anchor=\"middle\" fill=\"{}\">{}</text>",
                     x + layout.cell / 2, y + layout.cell / 2 + 0.35 * layout.count_font,
                     layout.count_font, share > 0.3 ? "#fff" : "#222", count);
    }
    svg += "</g>\n";
  }
  // Lines between the squares, every one of them as one path.
  std::string lines;
  for (int i = 0; i <= classes; ++i) {
    const double at = i * layout.cell;
    lines += fmt::format("M{:.1f} {:.1f}h{:.1f}M{:.1f} {:.1f}v{:.1f}", left, top + at, side,
                         left + at, top, side);
  }
  fmt::format_to(out, "<path d=\"{}\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\n</svg>\n", lines);
  return svg;
}

}  // namespace vig
