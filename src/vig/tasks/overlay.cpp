#include "vig/tasks/overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "vig/base/error.h"
#include "vig/base/utf8.h"
#include "vig/image/draw.h"
#include "vig/tasks/class_colors.h"
#include "vig/tasks/drawing_scale.h"

namespace vig {
namespace {

constexpr Color kBlack = {0, 0, 0}, kWhite = {255, 255, 255};
constexpr Color kFaint = {142, 147, 158};

double brightness(const Color& color) {  // 0 to 255
  return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
}
Color text_on(const Color& color) { return brightness(color) > 140 ? kBlack : kWhite; }

Color darker(const Color& color) {
  return {static_cast<uint8_t>(color[0] * 6 / 10), static_cast<uint8_t>(color[1] * 6 / 10),
          static_cast<uint8_t>(color[2] * 6 / 10)};
}

std::string name_of(std::span<const std::string> classes, int label) {
  const auto at = static_cast<size_t>(label);
  return at < classes.size() ? classes[at] : std::to_string(label);
}

// At most so many letters, the last two of which are dots where some are missing.
std::string shortened(const std::string& text, int letters) {
  const auto beginning = [&](int most) {
    std::string_view rest = text;
    for (int count = 0; count < most && !rest.empty(); ++count) take_character(rest);
    return text.substr(0, text.size() - rest.size());
  };
  std::string result = beginning(letters);
  if (result.size() == text.size() || letters < 3) return result;
  return beginning(letters - 2) + "..";
}

struct LegendEntry {
  std::string name, value;
  Color color;
};

// Columns of entries below the image, the first ones in the first column.
Image with_legend(const Image& image, const std::vector<LegendEntry>& entries, int dot) {
  const int letter = kFontWidth * dot, margin = 4 * dot, line = (kFontHeight + 4) * dot;
  const int swatch = kFontHeight * dot;
  int longest = 0, value = 0;
  for (const LegendEntry& entry : entries) {
    longest = std::max(longest, text_width(entry.name) / kFontWidth);
    value = std::max(value, text_width(entry.value) / kFontWidth);
  }
  const int fixed = swatch + margin + (value + 1) * letter + 3 * margin;
  const int room = std::max(1, image.width - 2 * margin);
  const int letters = std::max(1, std::min({longest, 24, (room - fixed) / letter}));
  const int column = fixed + letters * letter;
  const int count = static_cast<int>(entries.size());
  const int columns = std::clamp(room / std::max(1, column), 1, std::max(1, count));
  const int rows = (count + columns - 1) / columns;
  const int width = std::max(image.width, std::min(column + 2 * margin, image.width * 4));

  Image sheet(width, image.height + rows * line + 2 * margin);
  fill_rectangle(sheet, 0, 0, sheet.width, sheet.height, kPaperColor);
  for (int y = 0; y < image.height; ++y) {
    std::copy_n(image.row(y), image.row_bytes(), sheet.row(y));
  }
  for (int i = 0; i < count; ++i) {
    const LegendEntry& entry = entries[static_cast<size_t>(i)];
    const int x = margin + i / rows * column;
    const int y = image.height + margin + i % rows * line + 2 * dot;
    fill_rectangle(sheet, x, y, swatch, swatch, entry.color);
    draw_rectangle(sheet, x, y, swatch, swatch, dot, darker(entry.color));
    const int text = x + swatch + margin;
    draw_text(sheet, text, y + dot, shortened(entry.name, letters), kInkColor, dot);
    const int at = text + (letters + 1) * letter + value * letter - text_width(entry.value, dot);
    draw_text(sheet, at, y + dot, entry.value, kFaint, dot);
  }
  return sheet;
}

struct Rectangle {
  int x, y, width, height;
  bool meets(const Rectangle& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height &&
           other.y < y + height;
  }
  bool contains(const Rectangle& other) const {
    return x <= other.x && y <= other.y && other.x + other.width <= x + width &&
           other.y + other.height <= y + height;
  }
};

// What is written beside each object.
LabelText label_text(LabelText asked, size_t objects, size_t classes) {
  constexpr size_t kFew = 12;
  if (asked != LabelText::kAuto) return asked;
  if (objects <= kFew) return LabelText::kFull;
  return classes == 1 ? LabelText::kNone : LabelText::kShort;
}

std::string label_of(const Detection& detection, std::span<const std::string> classes,
                     LabelText text) {
  if (classes.size() == 1) {
    return text == LabelText::kFull ? fmt::format("{:.2f}", detection.score)
                                    : fmt::format("{:.0f}", 100 * detection.score);
  }
  const std::string name = shortened(name_of(classes, detection.label), 20);
  return text == LabelText::kFull ? fmt::format("{} {:.2f}", name, detection.score) : name;
}

// Free space for the label of an object: above its box, below, right or left of it, where it
// covers neither another label nor another object; otherwise in the box, where it covers little of
// it. Objects that the box lies in do not count.
std::optional<Rectangle> free_rectangle(const Rectangle& box, int width, int height,
                                        const Image& image, std::span<const Rectangle> boxes,
                                        std::span<const Rectangle> labels) {
  const int right = std::max(0, image.width - width);
  const int x = std::clamp(box.x, 0, right), y = std::clamp(box.y, 0, image.height);
  const auto free = [&](const Rectangle& at_label) {
    const auto meets = [&](const Rectangle& other) { return at_label.meets(other); };
    return at_label.x >= 0 && at_label.y >= 0 &&
           at_label.x + at_label.width <= std::max(width, image.width) &&
           at_label.y + at_label.height <= image.height && std::ranges::none_of(labels, meets);
  };
  for (const Rectangle& at_label : {Rectangle{x, box.y - height, width, height},
                                    Rectangle{x, box.y + box.height, width, height},
                                    Rectangle{box.x + box.width, y, width, height},
                                    Rectangle{box.x - width, y, width, height}}) {
    const auto covers = [&](const Rectangle& other) {
      return at_label.meets(other) && !other.contains(box);
    };
    if (free(at_label) && std::ranges::none_of(boxes, covers)) return at_label;
  }
  const Rectangle inside{x, box.y, width, height};
  if (free(inside) && width <= box.width && 4 * height <= box.height) return inside;
  return std::nullopt;
}

}  // namespace

// A mask's ones, and their edge: pixels that have one outside of the mask `scale.line` pixels away.
// Takes time for the part of the image they lie in.
void draw_mask(Image& image, const Mask& mask, int at_x, int at_y, const DrawingScale& scale,
               Color color, const OverlayOptions& options) {
  const Box box = mask.bounds();  // in float, which rounds sides of many millions
  const int left = std::min(static_cast<int>(box.x1), mask.width);
  const int top = std::min(static_cast<int>(box.y1), mask.height);
  const int width = std::min(static_cast<int>(box.x2), mask.width) - left;
  const int height = std::min(static_cast<int>(box.y2), mask.height) - top;
  if (width <= 0 || height <= 0) return;
  const std::vector<uint8_t> pixels = decode_mask(mask, left, top, width, height);
  const auto row = [&](int y) {
    return pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(width);
  };
  const int factor = scale.image;
  for (int y = 0; y < height; ++y) {
    for (int x = 0, end = 0; x < width; x = end) {
      while (end < width && row(y)[end] == row(y)[x]) ++end;
      if (row(y)[x] == 0) continue;
      fill_rectangle(image, (at_x + left + x) * factor, (at_y + top + y) * factor,
                     (end - x) * factor, factor, color, options.opacity);
    }
  }
  if (!options.contours) return;
  const auto outside = [&](int x, int y) {
    return x < 0 || y < 0 || x >= width || y >= height || row(y)[x] == 0;
  };
  const int thick = std::max(1, factor / 2), far = factor - thick, line = scale.line;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (row(y)[x] == 0) continue;
      const int column = (at_x + left + x) * factor, row_top = (at_y + top + y) * factor;
      if (outside(x - line, y)) fill_rectangle(image, column, row_top, thick, factor, color);
      if (outside(x + line, y)) fill_rectangle(image, column + far, row_top, thick, factor, color);
      if (outside(x, y - line)) fill_rectangle(image, column, row_top, factor, thick, color);
      if (outside(x, y + line)) fill_rectangle(image, column, row_top + far, factor, thick, color);
    }
  }
}

std::vector<AreaShare> area_shares(const LabelMap& labels) {
  std::array<int64_t, 256> counts = {};
  for (const uint8_t label : labels.labels) ++counts[label];
  return area_shares(counts);
}

std::vector<AreaShare> area_shares(std::span<const int64_t> pixels) {
  const std::span<const int64_t> counts = pixels.first(std::min<size_t>(pixels.size(), kNoLabel));
  int64_t all = 0;
  for (const int64_t count : counts) all += count;
  std::vector<AreaShare> shares;
  for (size_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0) continue;
    shares.push_back(
        {static_cast<int>(label), static_cast<double>(counts[label]) / static_cast<double>(all)});
  }
  std::ranges::stable_sort(shares, std::greater<>(), &AreaShare::share);
  return shares;
}

void draw_labels(Image& drawn, const LabelMap& labels, std::span<const Color> palette,
                 const DrawingScale& scale, const OverlayOptions& options) {
  const int factor = scale.image, line = scale.line;
  const int thick = std::max(1, factor / 3), far = factor - thick;
  for (int y = 0; y < std::min(labels.height, drawn.height / factor); ++y) {
    const uint8_t* const row = labels.row(y);
    const int top = y * factor;
    for (int x = 0, end = 0; x < labels.width; x = end) {
      while (end < labels.width && row[end] == row[x]) ++end;
      if (row[x] == kNoLabel) continue;
      fill_rectangle(drawn, x * factor, top, (end - x) * factor, factor, palette[row[x]],
                     options.opacity);
    }
    if (!options.contours) continue;
    // The edges of regions, dark on the side of the left and the upper one.
    const uint8_t* const below = labels.row(std::min(y + line, labels.height - 1));
    for (int x = 0; x < labels.width; ++x) {
      const int left = x * factor;
      const bool right_edge = row[std::min(x + line, labels.width - 1)] != row[x];
      const bool lower_edge = below[x] != row[x];
      if (right_edge) fill_rectangle(drawn, left + far, top, thick, factor, kBlack, 0.6);
      // Every pixel once, since it would be darker otherwise.
      const int width = right_edge ? far : factor;
      if (lower_edge) fill_rectangle(drawn, left, top + far, width, thick, kBlack, 0.6);
    }
  }
}

Image draw_legend(const Image& drawn, std::span<const AreaShare> shares,
                  std::span<const std::string> classes, const OverlayOptions& options, int dot) {
  const std::vector<Color> palette = class_palette(256, classes);
  std::vector<LegendEntry> entries;
  double rest = 0;
  size_t others = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (i + 1 >= options.most_entries && shares.size() > options.most_entries) {
      rest += shares[i].share;
      ++others;
      continue;
    }
    entries.push_back({name_of(classes, shares[i].label),
                       fmt::format("{:.1f}%", shares[i].share * 100),
                       palette[static_cast<size_t>(shares[i].label)]});
  }
  if (others > 0) {
    entries.push_back(
        {fmt::format("{} others", others), fmt::format("{:.1f}%", rest * 100), kFaint});
  }
  if (entries.empty()) entries.push_back({"no labels", "", kFaint});
  return with_legend(drawn, entries, dot);
}

Image draw_segmentation(const Image& image, const LabelMap& labels,
                        std::span<const std::string> classes, const OverlayOptions& options) {
  if (image.width < 1 || image.height < 1 || labels.width != image.width ||
      labels.height != image.height) {
    fail_usage("[overlay] labels of {}x{} pixels for an image of {}x{}", labels.width,
               labels.height, image.width, image.height);
  }
  const DrawingScale scale = drawing_scale(image.width, image.height);
  Image drawn = enlarged(image, scale.image);
  draw_labels(drawn, labels, class_palette(256, classes), scale, options);
  if (!options.legend) return drawn;
  return draw_legend(drawn, area_shares(labels), classes, options, scale.text);
}

Image draw_detections(const Image& image, const Detections& detections,
                      std::span<const std::string> classes, const OverlayOptions& options) {
  if (image.width < 1 || image.height < 1) fail_usage("[overlay] an image without pixels");
  const DrawingScale scale = drawing_scale(image.width, image.height);
  Image drawn = enlarged(image, scale.image);
  std::vector<size_t> shown;  // the best first
  for (size_t i = 0; i < detections.size(); ++i) {
    if (detections[i].score >= options.least_score) shown.push_back(i);
  }
  const auto rectangle_of = [&](const Box& box) {
    const auto at = [&](float value, int most) {
      if (!(value > 0)) return 0;  // also what is no number
      return static_cast<int>(std::lround(std::clamp(value, 0.0f, static_cast<float>(most)) *
                                          static_cast<float>(scale.image)));
    };
    const int x = at(box.x1, image.width), y = at(box.y1, image.height);
    return Rectangle{x, y, std::max(1, at(box.x2, image.width) - x),
                     std::max(1, at(box.y2, image.height) - y)};
  };
  for (size_t i = shown.size(); i-- > 0;) {
    const Mask& mask = detections[shown[i]].mask;
    if (mask.width == 0) continue;
    if (mask.width != image.width || mask.height != image.height) {
      fail_usage("[overlay] a mask of {}x{} pixels for an image of {}x{}", mask.width, mask.height,
                 image.width, image.height);
    }
    draw_mask(drawn, mask, 0, 0, scale, class_color(shown[i]), options);
  }
  std::vector<Rectangle> boxes;
  for (const size_t i : shown) boxes.push_back(rectangle_of(detections[i].box));
  for (size_t i = shown.size(); i-- > 0;) {
    const auto& [x, y, width, height] = boxes[i];
    const int line = std::clamp(std::min(width, height) / 8, 1, scale.line);
    draw_rectangle(drawn, x, y, width, height, line, class_color(shown[i]));
  }
  const LabelText text = label_text(options.labels, shown.size(), classes.size());
  if (text == LabelText::kNone) return drawn;
  std::vector<Rectangle> labels;
  for (size_t i = 0; i < shown.size(); ++i) {  // the best has the first choice
    const std::string label = label_of(detections[shown[i]], classes, text);
    // Small objects get small letters.
    int dot = scale.text;
    while (dot > 1 && text_width(label, dot) > boxes[i].width) --dot;
    const std::optional<Rectangle> at_label = free_rectangle(
        boxes[i], text_width(label, dot) + 2 * dot, (kFontHeight + 2) * dot, drawn, boxes, labels);
    if (!at_label) continue;
    labels.push_back(*at_label);
    const Color color = class_color(shown[i]);
    fill_rectangle(drawn, at_label->x, at_label->y, at_label->width, at_label->height, color, 0.9);
    draw_text(drawn, at_label->x + dot, at_label->y + dot + dot / 2, label, text_on(color), dot);
  }
  return drawn;
}

std::optional<LabelText> parse_label_text(std::string_view word) {
  if (word == "auto") return LabelText::kAuto;
  if (word == "none") return LabelText::kNone;
  if (word == "short") return LabelText::kShort;
  if (word == "full") return LabelText::kFull;
  return std::nullopt;
}

}  // namespace vig
