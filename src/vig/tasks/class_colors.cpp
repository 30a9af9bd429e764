#include "vig/tasks/class_colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

namespace vig {
namespace {

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

struct NamedColor {
  std::string_view words;  // with a space before and after each
  Color color;
};

// Words of CamVid, Cityscapes and ADE20K, in lower case and without anything but letters.
constexpr std::array kNamedColors = {
    NamedColor{" sky ", {112, 178, 238}},
    NamedColor{" cloud ", {218, 228, 242}},
    NamedColor{" building house edifice skyscraper ", {158, 98, 78}},
    NamedColor{" wall ", {196, 164, 132}},
    NamedColor{" fence guardrail railing ", {206, 138, 48}},
    NamedColor{" bridge tunnel ", {138, 128, 92}},
    NamedColor{" pole column post ", {240, 228, 196}},
    NamedColor{" road street route asphalt ", {96, 98, 106}},
    NamedColor{" lanemarking roadmarking ", {250, 250, 250}},
    NamedColor{" pavement sidewalk footpath path walkway parking ", {198, 176, 212}},
    NamedColor{" tree vegetation forest palm ", {38, 132, 52}},
    NamedColor{" plant bush shrub ", {82, 170, 84}},
    NamedColor{" grass lawn ", {140, 198, 62}},
    NamedColor{" terrain field ", {176, 196, 112}},
    NamedColor{" earth ground soil dirt land ", {134, 90, 44}},
    NamedColor{" sand beach ", {230, 206, 140}},
    NamedColor{" mountain hill ", {118, 110, 158}},
    NamedColor{" rock stone ", {132, 126, 118}},
    NamedColor{" snow ice ", {236, 246, 254}},
    NamedColor{" water pool swimmingpool ", {24, 124, 196}},
    NamedColor{" sea ocean ", {14, 84, 158}},
    NamedColor{" river lake waterfall ", {74, 152, 206}},
    NamedColor{" sign signsymbol trafficsign signboard ", {252, 208, 32}},
    NamedColor{" trafficlight light streetlight lamp ", {255, 156, 26}},
    NamedColor{" person pedestrian people human child man woman ", {226, 34, 58}},
    NamedColor{" bicyclist cyclist rider motorcyclist ", {246, 96, 178}},
    NamedColor{" bicycle bike ", {164, 36, 120}},
    NamedColor{" motorcycle motorbike minibike ", {112, 34, 150}},
    NamedColor{" car vehicle automobile van suv ", {42, 58, 206}},
    NamedColor{" truck pickup trucksbus ", {22, 26, 122}},
    NamedColor{" bus ", {16, 116, 124}},
    NamedColor{" train tram rail ", {8, 70, 74}},
    NamedColor{" airplane aeroplane plane ", {170, 204, 214}},
    NamedColor{" boat ship ", {116, 58, 26}},
    NamedColor{" floor flooring ", {174, 130, 88}},
    NamedColor{" ceiling ", {226, 222, 208}},
    NamedColor{" door ", {112, 66, 40}},
    NamedColor{" window windowpane ", {160, 220, 226}},
    NamedColor{" fire flame ", {242, 78, 18}},
    NamedColor{" background void unlabelled unlabeled other ", {46, 46, 52}},
};

double apart(const Color& a, const Color& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// "Traffic sign", "SignSymbol" and "building, edifice" as one word: the first name, letters alone.
std::string word_of(std::string_view name) {
  std::string word;
  for (const char letter : name.substr(0, name.find_first_of(",;"))) {
    if (letter >= 'A' && letter <= 'Z') word += static_cast<char>(letter - 'A' + 'a');
    if (letter >= 'a' && letter <= 'z') word += letter;
  }
  return word;
}

std::optional<Color> expected_color(std::string_view name) {
  std::string word = word_of(name);
  if (word.empty()) return std::nullopt;
  const auto has = [&](const NamedColor& one) {
    return one.words.find(' ' + word + ' ') != std::string_view::npos;
  };
  auto found = std::ranges::find_if(kNamedColors, has);
  if (found == kNamedColors.end() && word.back() == 's') {  // trees
    word.pop_back();
    found = std::ranges::find_if(kNamedColors, has);
  }
  if (found == kNamedColors.end()) return std::nullopt;
  return found->color;
}

// Number 0 is the colour itself; then by turns lighter and darker.
Color shade(const Color& color, int number) {
  const int towards = number % 2 == 1 ? 255 : 0, fourths = (number + 1) / 2;
  Color shaded;
  for (size_t c = 0; c < 3; ++c) {
    shaded[c] = static_cast<uint8_t>((color[c] * (4 - fourths) + towards * fourths) / 4);
  }
  return shaded;
}

// The first of `count` colours that resembles none of the taken ones; none: the first of all.
template <class ColorOf>
Color first_apart(const std::vector<Color>& taken, int count, const ColorOf& color_of) {
  constexpr double kApart = 40;
  for (int i = 0; i < count; ++i) {
    const Color color = color_of(i);
    if (std::ranges::all_of(taken, [&](const Color& one) { return apart(one, color) >= kApart; })) {
      return color;
    }
  }
  return color_of(0);
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

std::vector<Color> class_palette(size_t classes, std::span<const std::string> names) {
  constexpr int kShades = 6, kFurther = 16;
  constexpr size_t kStride = 256;  // beyond the indices of other classes
  std::vector<std::optional<Color>> expected(classes);
  std::vector<Color> taken;
  for (size_t i = 0; i < std::min(classes, names.size()); ++i) {
    const std::optional<Color> color = expected_color(names[i]);
    if (!color) continue;
    expected[i] = first_apart(taken, kShades, [&](int k) { return shade(*color, k); });
    taken.push_back(*expected[i]);
  }
  std::vector<Color> palette;
  for (size_t i = 0; i < classes; ++i) {
    const auto further = [&](int k) { return class_color(i + static_cast<size_t>(k) * kStride); };
    palette.push_back(expected[i] ? *expected[i] : first_apart(taken, kFurther, further));
  }
  return palette;
}

}  // namespace vig
