#include "vig/tasks/confusion_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "vig/base/error.h"
#include "vig/tasks/svg.h"

namespace vig {
namespace {

constexpr size_t kClassLength = 24;
constexpr int kMostWithoutList = 30;
constexpr size_t kListed = 10;
constexpr double kListFont = 13, kListLine = 19;

// Squares of a size at which names of their height can still be read.
struct Layout {
  double cell, name_font, count_font;

  explicit Layout(int classes)
      : cell(std::clamp(640.0 / std::max(classes, 1), 10.0, 56.0)),
        name_font(std::min(13.0, 0.8 * cell)),
        count_font(std::min(13.0, 0.45 * cell)) {}

  double side(int classes) const { return cell * classes; }
  // Beside the matrix: "100 %".
  double edge() const { return 3.4 * name_font + 12; }
  bool fits(int64_t count) const {
    const double digits = static_cast<double>(fmt::formatted_size("{}", count));
    return count_font >= 7 && 0.6 * count_font * digits <= cell - 2;
  }
};

// From white to the full colour. The root lets single mistakes among many images show.
std::string shade(double share, bool right) {
  constexpr double kBlue[] = {23, 78, 148}, kRed[] = {184, 48, 24};
  const double strength = std::sqrt(std::clamp(share, 0.0, 1.0));
  const auto channel = [&](int i) {
    return static_cast<int>(std::lround(255 + strength * ((right ? kBlue : kRed)[i] - 255)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2));
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.0f} %", 100 * share);
}

class ConfusionDrawing {
 public:
  ConfusionDrawing(const ClassificationMetrics& metrics, std::span<const std::string> names,
                   std::string_view unit)
      : metrics_(metrics), classes_(metrics.per_class()), layout_(metrics.classes), unit_(unit) {
    double widest = 0;
    for (int i = 0; i < metrics.classes; ++i) {
      labels_.push_back(names.empty() ? svg_label(fmt::format("{}", i))
                                      : svg_label(names[static_cast<size_t>(i)], kClassLength));
      widest = std::max(widest, labels_.back().width);
    }
    const double names_room = widest * layout_.name_font + 12;
    left_ = 24 + names_room;
    top_ = 56 + names_room;
    if (metrics.classes > kMostWithoutList) listed_ = largest_confusions(metrics, kListed);
  }

  std::string text(std::string_view title) {
    const double side = layout_.side(metrics_.classes);
    const double right = left_ + side + layout_.edge(), bottom = top_ + side + layout_.edge();
    const double key = bottom + 16, list = key + 66;
    const double height =
        listed_.empty() ? key + 44 : list + kListLine * static_cast<double>(listed_.size() + 1);
    double width = std::max({right, 16 + 15 * svg_label(title).width, left_ + kKeyWidth});
    for (const Confusion& one : listed_) {
      width = std::max(
          width, left_ + kListFont * (name(one.label).width + name(one.predicted).width + 16));
    }
    svg_ = svg_head(width + 16, height + 8, layout_.name_font, title, 16);
    draw_names(side);
    draw_squares();
    draw_lines();
    draw_edges(side);
    draw_key(key);
    draw_list(list);
    return svg_ + "</svg>\n";
  }

 private:
  static constexpr double kKeyWidth = 300;

  const SvgLabel& name(int i) const { return labels_[static_cast<size_t>(i)]; }
  const ClassMetrics& of(int i) const { return classes_[static_cast<size_t>(i)]; }
  // Where text begins whose middle is the middle of square i.
  double middle(int i) const { return (i + 0.5) * layout_.cell + 0.35 * layout_.name_font; }

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  void draw_names(double side) {
    add("<text x=\"{:.1f}\" y=\"46\" font-size=\"12\" text-anchor=\"middle\">prediction</text>\n"
        "<text transform=\"translate(16 {:.1f}) rotate(-90)\" font-size=\"12\" "
        "text-anchor=\"middle\">label</text>\n",
        left_ + side / 2, top_ + side / 2);
    for (int i = 0; i < metrics_.classes; ++i) {
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left_ - 6,
          top_ + middle(i), name(i).xml);
      add("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n", left_ + middle(i),
          top_ - 6, name(i).xml);
    }
  }

  void draw_squares() {
    for (const auto& [pair, count] : metrics_.confusion) {
      const auto [label, predicted] = pair;
      const int64_t row = of(label).count;
      const double share = static_cast<double>(count) / static_cast<double>(row);
      const double x = left_ + predicted * layout_.cell, y = top_ + label * layout_.cell;
      add("<g><title>{} taken for {}: {} of {}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" "
          "width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>",
          name(label).xml, name(predicted).xml, count, row, x, y, layout_.cell, layout_.cell,
          shade(share, label == predicted));
      if (layout_.fits(count)) {
        add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" text-anchor=\"middle\" "
            "fill=\"{}\">{}</text>",
            x + layout_.cell / 2, y + layout_.cell / 2 + 0.35 * layout_.count_font,
            layout_.count_font, share > 0.3 ? "#fff" : "#222", count);
      }
      svg_ += "</g>\n";
    }
  }

  // Between the squares, all of them as one path.
  void draw_lines() {
    const double side = layout_.side(metrics_.classes);
    std::string lines;
    for (int i = 0; i <= metrics_.classes; ++i) {
      const double at = i * layout_.cell;
      lines += fmt::format("M{:.1f} {:.1f}h{:.1f}M{:.1f} {:.1f}v{:.1f}", left_, top_ + at, side,
                           left_ + at, top_, side);
    }
    add("<path d=\"{}\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\n", lines);
  }

  void draw_edges(double side) {
    const double x = left_ + side + 6, y = top_ + side + 6;
    add("<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\">recall</text>\n",
        x + layout_.name_font, top_ - 6);
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">precision</text>\n", left_ - 6,
        y + layout_.name_font);
    for (int i = 0; i < metrics_.classes; ++i) {
      add("<text class=\"recall\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, top_ + middle(i),
          percent(of(i).recall()));
      add("<text class=\"precision\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\" "
          "text-anchor=\"end\">{}</text>\n",
          left_ + middle(i), y, percent(of(i).precision()));
    }
  }

  // A row of samples for right predictions and one for mistakes.
  void draw_key(double top) {
    constexpr double kShares[] = {0.01, 0.05, 0.1, 0.25, 0.5, 1};
    constexpr double kWidth = 32, kHeight = 12;
    for (size_t i = 0; i < std::size(kShares); ++i) {
      const double x = left_ + kWidth * static_cast<double>(i);
      for (const bool right : {true, false}) {
        add("<path class=\"key\" d=\"M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z\" fill=\"{}\"/>\n", x,
            top + (right ? 0 : kHeight), kWidth, kHeight, kWidth, shade(kShares[i], right));
      }
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" text-anchor=\"middle\">{:.0f} "
          "%</text>\n",
          x + kWidth / 2, top + 2 * kHeight + 12, 100 * kShares[i]);
    }
    const double x = left_ + kWidth * static_cast<double>(std::size(kShares)) + 8;
    add("<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"10\">right</text>\n"
        "<text x=\"{0:.1f}\" y=\"{2:.1f}\" font-size=\"10\">wrong</text>\n"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" font-size=\"10\">of the label's row</text>\n",
        x, top + 10, top + kHeight + 10, top + 2 * kHeight + 12);
  }

  void draw_list(double top) {
    if (listed_.empty()) return;
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" font-weight=\"bold\">largest "
        "confusions</text>\n",
        left_, top, kListFont);
    for (size_t i = 0; i < listed_.size(); ++i) {
      const Confusion& one = listed_[i];
      add("<text class=\"confusion\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\">{} taken for {}: "
          "{} "
          "of {} {}</text>\n",
          left_, top + kListLine * static_cast<double>(i + 1), kListFont, name(one.label).xml,
          name(one.predicted).xml, one.images, of(one.label).count, unit_);
    }
  }

  const ClassificationMetrics& metrics_;
  const std::vector<ClassMetrics> classes_;
  const Layout layout_;
  const std::string unit_;
  std::vector<SvgLabel> labels_;
  std::vector<Confusion> listed_;
  double left_ = 0, top_ = 0;  // corner of the matrix
  std::string svg_;
};

}  // namespace

std::vector<Confusion> largest_confusions(const ClassificationMetrics& metrics, size_t most) {
  std::vector<Confusion> found;
  for (const auto& [pair, count] : metrics.confusion) {
    if (pair.first != pair.second) found.push_back({pair.first, pair.second, count});
  }
  std::ranges::stable_sort(found, std::greater<>(), &Confusion::images);
  found.resize(std::min(found.size(), most));
  return found;
}

std::string confusion_svg(const ClassificationMetrics& metrics, std::span<const std::string> names,
                          std::string_view title, std::string_view unit) {
  if (!names.empty() && names.size() != static_cast<size_t>(metrics.classes)) {
    fail("[confusion] {} class names for {} classes", names.size(), metrics.classes);
  }
  return ConfusionDrawing(metrics, names, unit).text(title);
}

}  // namespace vig
