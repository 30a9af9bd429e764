#include "vig/data/photometric.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vig {
namespace {

uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

// v * factor + offset of every value, by a table.
void scale_values(float factor, float offset, Image& image) {
  std::array<uint8_t, 256> table;
  for (size_t v = 0; v < table.size(); ++v) {
    table[v] = to_byte(static_cast<float>(v) * factor + offset);
  }
  for (uint8_t& value : image.rgb) value = table[value];
}

}  // namespace

Hsv to_hsv(const uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int high = std::max({r, g, b}), range = high - std::min({r, g, b});
  Hsv hsv;
  hsv.value = high;
  if (range == 0) return hsv;
  hsv.saturation = (2 * 255 * range + high) / (2 * high);
  const float unit = 30.0f / static_cast<float>(range);  // sixths of 180
  const float hue = high == r   ? static_cast<float>(g - b) * unit
                    : high == g ? 60.0f + static_cast<float>(b - r) * unit
                                : 120.0f + static_cast<float>(r - g) * unit;
  hsv.hue = static_cast<int>(std::lround(hue < 0 ? hue + 180.0f : hue)) % 180;
  return hsv;
}

void to_rgb(const Hsv& hsv, uint8_t* rgb) {
  const int sector = hsv.hue / 30;
  const float inside = static_cast<float>(hsv.hue % 30) / 30.0f;
  const float value = static_cast<float>(hsv.value);
  const float saturation = static_cast<float>(hsv.saturation) / 255.0f;
  const auto level = [&](float share) {
    return static_cast<uint8_t>(std::lround(value * (1.0f - saturation * share)));
  };
  const uint8_t high = static_cast<uint8_t>(hsv.value), low = level(1.0f);
  const uint8_t falling = level(inside), rising = level(1.0f - inside);
  const std::array<std::array<uint8_t, 3>, 6> colors = {{{high, rising, low},
                                                         {falling, high, low},
                                                         {low, high, rising},
                                                         {low, falling, high},
                                                         {rising, low, high},
                                                         {high, low, falling}}};
  std::ranges::copy(colors[static_cast<size_t>(sector)], rgb);
}

void distort_colors(const RandomStream& stream, Image& image) {
  RandomStream brightness = stream.fork("brightness"), contrast = stream.fork("contrast");
  RandomStream saturation = stream.fork("saturation"), hue = stream.fork("hue");
  if (brightness.chance(0.5)) scale_values(1.0f, brightness.uniform(-32.0f, 32.0f), image);
  const bool scales = contrast.chance(0.5), first = contrast.chance(0.5);
  const float factor = contrast.uniform(0.5f, 1.5f);
  if (scales && first) scale_values(factor, 0.0f, image);
  const bool saturates = saturation.chance(0.5), turns = hue.chance(0.5);
  if (saturates || turns) {
    const float more = saturates ? saturation.uniform(0.5f, 1.5f) : 1.0f;
    const int turn = turns ? static_cast<int>(hue.below(36)) - 18 : 0;
    for (size_t i = 0; i < image.rgb.size(); i += 3) {
      Hsv hsv = to_hsv(image.rgb.data() + i);
      hsv.saturation = to_byte(static_cast<float>(hsv.saturation) * more);
      hsv.hue = (hsv.hue + turn + 180) % 180;
      to_rgb(hsv, image.rgb.data() + i);
    }
  }
  if (scales && !first) scale_values(factor, 0.0f, image);
}

}  // namespace vig
