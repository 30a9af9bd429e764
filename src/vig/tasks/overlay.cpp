#include "vig/tasks/overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "vig/base/error.h"
#include "vig/base/utf8.h"
#include "vig/image/preprocess.h"

namespace vig {
namespace {

constexpr Color kBlack = {0, 0, 0}, kWhite = {255, 255, 255};
constexpr Color kPaper = {24, 26, 31}, kInk = {228, 230, 235}, kFaint = {142, 147, 158};

// Oklab's lightness, chroma and hue (in turns) as sRGB, cut off where the screen ends.
Color from_oklch(double lightness, double chroma, double turn) {
  const double a = chroma * std::cos(2 * std::numbers::pi * turn);
  const double b = chroma * std::sin(2 * std::numbers::pi * turn);
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  const std::array<double, 3> linear = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                                        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                                        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
  Color color;
  for (size_t c = 0; c < 3; ++c) {
    const double light = std::clamp(linear[c], 0.0, 1.0);
    const double coded =
        light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
    color[c] = static_cast<uint8_t>(std::lround(coded * 255));
  }
  return color;
}

double brightness(const Color& color) {  // 0 to 255
  return 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2];
}
Color text_on(const Color& color) { return brightness(color) > 140 ? kBlack : kWhite; }

Color darker(const Color& color) {
  return {static_cast<uint8_t>(color[0] * 6 / 10), static_cast<uint8_t>(color[1] * 6 / 10),
          static_cast<uint8_t>(color[2] * 6 / 10)};
}

// By how much a picture is enlarged, and how large the dots of the font are then.
struct Scale {
  int picture = 1;
  int text = 1;
};

Scale scale_for(int width, int height) {
  constexpr int kLegible = 512, kMost = 8, kDot = 420;
  const int longer = std::max(width, height), shorter = std::min(width, height);
  Scale scale;
  scale.picture = std::clamp(kLegible / longer, 1, kMost);
  // The legend of a picture that is very long takes no more than a few of its heights.
  const int64_t side = std::min(int64_t{longer}, 4 * int64_t{shorter}) * scale.picture;
  scale.text = static_cast<int>(std::max<int64_t>(1, (side + kDot / 2) / kDot));
  return scale;
}

Image enlarge(const Image& image, int factor) {
  if (factor == 1) return image;
  return resize_image(image, image.width * factor, image.height * factor, Interpolation::kBicubic);
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

// Columns of entries below the picture, the first ones in the first column.
Image with_legend(const Image& picture, const std::vector<LegendEntry>& entries, int dot) {
  const int letter = kFontWidth * dot, margin = 4 * dot, line = (kFontHeight + 4) * dot;
  const int swatch = kFontHeight * dot;
  int longest = 0, value = 0;
  for (const LegendEntry& entry : entries) {
    longest = std::max(longest, text_width(entry.name) / kFontWidth);
    value = std::max(value, text_width(entry.value) / kFontWidth);
  }
  const int fixed = swatch + margin + (value + 1) * letter + 3 * margin;
  const int room = std::max(1, picture.width - 2 * margin);
  const int letters = std::max(1, std::min({longest, 24, (room - fixed) / letter}));
  const int column = fixed + letters * letter;
  const int count = static_cast<int>(entries.size());
  const int columns = std::clamp(room / std::max(1, column), 1, std::max(1, count));
  const int rows = (count + columns - 1) / columns;
  const int width = std::max(picture.width, std::min(column + 2 * margin, picture.width * 4));

  Image sheet(width, picture.height + rows * line + 2 * margin);
  fill_rectangle(sheet, 0, 0, sheet.width, sheet.height, kPaper);
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), picture.row_bytes(), sheet.row(y));
  }
  for (int i = 0; i < count; ++i) {
    const LegendEntry& entry = entries[static_cast<size_t>(i)];
    const int x = margin + i / rows * column;
    const int y = picture.height + margin + i % rows * line + 2 * dot;
    fill_rectangle(sheet, x, y, swatch, swatch, entry.color);
    draw_rectangle(sheet, x, y, swatch, swatch, dot, darker(entry.color));
    const int text = x + swatch + margin;
    draw_text(sheet, text, y + dot, shortened(entry.name, letters), kInk, dot);
    const int at = text + (letters + 1) * letter + value * letter - text_width(entry.value, dot);
    draw_text(sheet, at, y + dot, entry.value, kFaint, dot);
  }
  return sheet;
}

struct Place {
  int x, y, width, height;
  bool meets(const Place& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height &&
           other.y < y + height;
  }
};

// A mask's ones, and where they have a neighbour outside of it. Takes time for the part of the
// picture they lie in.
void draw_mask(Image& image, const Mask& mask, int factor, Color color,
               const OverlayOptions& options) {
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
  for (int y = 0; y < height; ++y) {
    for (int x = 0, end = 0; x < width; x = end) {
      while (end < width && row(y)[end] == row(y)[x]) ++end;
      if (row(y)[x] == 0) continue;
      fill_rectangle(image, (left + x) * factor, (top + y) * factor, (end - x) * factor, factor,
                     color, options.opacity);
    }
  }
  if (!options.contours) return;
  const int thick = std::max(1, factor / 2), far = factor - thick;
  for (int y = 0; y < height; ++y) {
    const uint8_t* const here = row(y);
    const uint8_t* const above = y > 0 ? row(y - 1) : nullptr;
    const uint8_t* const below = y + 1 < height ? row(y + 1) : nullptr;
    for (int x = 0; x < width; ++x) {
      if (here[x] == 0) continue;
      const int at_x = (left + x) * factor, at_y = (top + y) * factor;
      if (x == 0 || here[x - 1] == 0) fill_rectangle(image, at_x, at_y, thick, factor, color);
      if (x + 1 == width || here[x + 1] == 0) {
        fill_rectangle(image, at_x + far, at_y, thick, factor, color);
      }
      if (above == nullptr || above[x] == 0) {
        fill_rectangle(image, at_x, at_y, factor, thick, color);
      }
      if (below == nullptr || below[x] == 0) {
        fill_rectangle(image, at_x, at_y + far, factor, thick, color);
      }
    }
  }
}

}  // namespace

// Hues a golden section of the circle apart, so that neighbours differ most, on three levels of
// lightness.
Color class_color(size_t label) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr std::array<double, 3> kLightness = {0.70, 0.55, 0.83};
  constexpr std::array<double, 3> kChroma = {0.17, 0.17, 0.13};
  const double turn = 0.08 + static_cast<double>(label % 4096) * kGolden;
  return from_oklch(kLightness[label % 3], kChroma[label % 3], turn - std::floor(turn));
}

std::vector<Color> class_palette(size_t classes) {
  std::vector<Color> palette;
  for (size_t i = 0; i < classes; ++i) palette.push_back(class_color(i));
  return palette;
}

std::vector<AreaShare> area_shares(const LabelMap& labels) {
  std::array<int64_t, 256> counts = {};
  for (const uint8_t label : labels.labels) ++counts[label];
  int64_t all = 0;
  for (size_t label = 0; label < kNoLabel; ++label) all += counts[label];
  std::vector<AreaShare> shares;
  for (size_t label = 0; label < kNoLabel; ++label) {
    if (counts[label] == 0) continue;
    shares.push_back(
        {static_cast<int>(label), static_cast<double>(counts[label]) / static_cast<double>(all)});
  }
  std::ranges::stable_sort(shares, std::greater<>(), &AreaShare::share);
  return shares;
}

Image draw_segmentation(const Image& image, const LabelMap& labels,
                        std::span<const std::string> classes, const OverlayOptions& options) {
  if (image.width < 1 || image.height < 1 || labels.width != image.width ||
      labels.height != image.height) {
    fail_usage("[overlay] labels of {}x{} pixels for a picture of {}x{}", labels.width,
               labels.height, image.width, image.height);
  }
  const Scale scale = scale_for(image.width, image.height);
  const std::vector<Color> palette = class_palette(256);
  Image drawn = enlarge(image, scale.picture);
  const int thick = std::max(1, scale.picture / 3), far = scale.picture - thick;
  for (int y = 0; y < labels.height; ++y) {
    const uint8_t* const row = labels.row(y);
    const int top = y * scale.picture;
    for (int x = 0, end = 0; x < labels.width; x = end) {
      while (end < labels.width && row[end] == row[x]) ++end;
      if (row[x] == kNoLabel) continue;
      fill_rectangle(drawn, x * scale.picture, top, (end - x) * scale.picture, scale.picture,
                     palette[row[x]], options.opacity);
    }
    if (!options.contours) continue;
    // The edges of regions, dark on the side of the left and the upper one.
    const uint8_t* const below = labels.row(std::min(y + 1, labels.height - 1));
    for (int x = 0; x < labels.width; ++x) {
      const int left = x * scale.picture;
      if (x + 1 < labels.width && row[x + 1] != row[x]) {
        fill_rectangle(drawn, left + far, top, thick, scale.picture, kBlack, 0.6);
      }
      if (below[x] != row[x]) {
        fill_rectangle(drawn, left, top + far, scale.picture, thick, kBlack, 0.6);
      }
    }
  }
  if (!options.legend) return drawn;
  std::vector<LegendEntry> entries;
  double rest = 0;
  size_t others = 0;
  const std::vector<AreaShare> shares = area_shares(labels);
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
  return with_legend(drawn, entries, scale.text);
}

Image draw_detections(const Image& image, const Detections& detections,
                      std::span<const std::string> classes, const OverlayOptions& options) {
  if (image.width < 1 || image.height < 1) fail_usage("[overlay] a picture without pixels");
  const Scale scale = scale_for(image.width, image.height);
  Image drawn = enlarge(image, scale.picture);
  std::vector<size_t> shown;  // the best first
  for (size_t i = 0; i < detections.size(); ++i) {
    if (detections[i].score >= options.least_score) shown.push_back(i);
  }
  // Objects of the only class are told apart by colour.
  const auto color_of = [&](size_t i) {
    return class_color(classes.size() == 1 ? i : static_cast<size_t>(detections[i].label));
  };
  const auto place_of = [&](const Box& box) {
    const auto at = [&](float value, int most) {
      if (!(value > 0)) return 0;  // also what is no number
      return static_cast<int>(std::lround(std::clamp(value, 0.0f, static_cast<float>(most)) *
                                          static_cast<float>(scale.picture)));
    };
    const int x = at(box.x1, image.width), y = at(box.y1, image.height);
    return Place{x, y, std::max(1, at(box.x2, image.width) - x),
                 std::max(1, at(box.y2, image.height) - y)};
  };
  for (size_t i = shown.size(); i-- > 0;) {
    const Mask& mask = detections[shown[i]].mask;
    if (mask.width == 0) continue;
    if (mask.width != image.width || mask.height != image.height) {
      fail_usage("[overlay] a mask of {}x{} pixels for a picture of {}x{}", mask.width, mask.height,
                 image.width, image.height);
    }
    draw_mask(drawn, mask, scale.picture, color_of(shown[i]), options);
  }
  for (size_t i = shown.size(); i-- > 0;) {
    const Place box = place_of(detections[shown[i]].box);
    draw_rectangle(drawn, box.x, box.y, box.width, box.height, scale.text, color_of(shown[i]));
  }
  if (!options.legend) return drawn;
  // The best first; what would cover another label is tried above the box, in it and below it.
  std::vector<Place> taken;
  for (const size_t i : shown) {
    const Detection& detection = detections[i];
    const std::string text =
        classes.size() == 1
            ? fmt::format("{:.2f}", detection.score)
            : fmt::format("{} {:.2f}", shortened(name_of(classes, detection.label), 20),
                          detection.score);
    const Place box = place_of(detection.box);
    // Small objects get small letters.
    int dot = scale.text;
    while (dot > 1 && text_width(text, dot) > box.width) --dot;
    Place tab{box.x, 0, text_width(text, dot) + 2 * dot, (kFontHeight + 2) * dot};
    tab.x = std::clamp(tab.x, 0, std::max(0, drawn.width - tab.width));
    const std::array<int, 3> rows = {box.y - tab.height, box.y, box.y + box.height};
    const auto free = std::ranges::find_if(rows, [&](int y) {
      tab.y = y;
      return y >= 0 && y + tab.height <= drawn.height &&
             std::ranges::none_of(taken, [&](const Place& other) { return tab.meets(other); });
    });
    if (free == rows.end()) continue;
    taken.push_back(tab);
    fill_rectangle(drawn, tab.x, tab.y, tab.width, tab.height, color_of(i), 0.9);
    draw_text(drawn, tab.x + dot, tab.y + dot + dot / 2, text, text_on(color_of(i)), dot);
  }
  return drawn;
}

}  // namespace vig
