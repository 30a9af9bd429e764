#include "vig/data/color_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vig {
namespace {

using Table = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

uint8_t clip(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

template <typename Function>
Table make_table(Function function) {
  Table table;
  for (int v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = function(v);
  return table;
}

void map_values(Image& image, const Table& table) {
  for (uint8_t& v : image.rgb) v = table[v];
}

// `make` turns the histogram of a channel into its table.
template <typename Function>
void map_channels(Image& image, Function make) {
  std::array<Histogram, 3> histograms = {};
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) ++histograms[c][image.rgb[i + c]];
  }
  const std::array<Table, 3> tables = {make(histograms[0]), make(histograms[1]),
                                       make(histograms[2])};
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) image.rgb[i + c] = tables[c][image.rgb[i + c]];
  }
}

// The darkest and the brightest value that occur; needs one that does.
struct Range {
  int low, high;
};
Range find_range(const Histogram& histogram) {
  int low = 0, high = 255;
  while (low < 255 && histogram[static_cast<size_t>(low)] == 0) ++low;
  while (high > 0 && histogram[static_cast<size_t>(high)] == 0) --high;
  return {low, high};
}

uint8_t blend(int dull, int value, float factor) {
  const float result = static_cast<float>(dull) + factor * static_cast<float>(value - dull);
  return static_cast<uint8_t>(std::clamp(result, 0.0f, 255.0f));
}

// ITU-R 601 luma in 16-bit fixed point.
int luma(const uint8_t* rgb) {
  return static_cast<int>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

}  // namespace

void invert(Image& image) {
  for (uint8_t& v : image.rgb) v = static_cast<uint8_t>(255 - v);
}

void auto_contrast(Image& image) {
  map_channels(image, [](const Histogram& histogram) {
    const Range range = find_range(histogram);
    if (range.high <= range.low) return make_table([](int v) { return clip(v); });
    const double scale = 255.0 / (range.high - range.low);
    const double offset = -range.low * scale;
    return make_table([&](int v) { return clip(static_cast<int>(v * scale + offset)); });
  });
}

void equalize(Image& image) {
  const int64_t pixels = static_cast<int64_t>(image.rgb.size() / 3);
  map_channels(image, [&](const Histogram& histogram) {
    const int brightest = find_range(histogram).high;
    const int64_t bin = (pixels - histogram[static_cast<size_t>(brightest)]) / 255;
    if (bin == 0) return make_table([](int v) { return clip(v); });
    int64_t sum = bin / 2;
    return make_table([&](int v) {
      const int64_t level = sum / bin;
      sum += histogram[static_cast<size_t>(v)];
      return static_cast<uint8_t>(std::min<int64_t>(level, 255));
    });
  });
}

void posterize(Image& image, int bits) {
  const int mask = 0xff << (8 - bits);
  for (uint8_t& v : image.rgb) v = static_cast<uint8_t>(v & mask);
}

void solarize(Image& image, int threshold) {
  map_values(image, make_table([&](int v) { return clip(v < threshold ? v : 255 - v); }));
}

void solarize_add(Image& image, int add) {
  map_values(image, make_table([&](int v) { return clip(v < 128 ? v + add : v); }));
}

void adjust_brightness(Image& image, float factor) {
  map_values(image, make_table([&](int v) { return blend(0, v, factor); }));
}

void adjust_contrast(Image& image, float factor) {
  if (image.rgb.empty()) return;
  int64_t sum = 0;
  for (size_t i = 0; i < image.rgb.size(); i += 3) sum += luma(&image.rgb[i]);
  const double mean = static_cast<double>(sum) / static_cast<double>(image.rgb.size() / 3);
  const int dull = static_cast<int>(mean + 0.5);
  map_values(image, make_table([&](int v) { return blend(dull, v, factor); }));
}

void adjust_color(Image& image, float factor) {
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    uint8_t* pixel = &image.rgb[i];
    const int dull = luma(pixel);
    for (size_t c = 0; c < 3; ++c) pixel[c] = blend(dull, pixel[c], factor);
  }
}

void adjust_sharpness(Image& image, float factor) {
  if (image.width < 3 || image.height < 3) return;  // all border
  const size_t bytes = image.row_bytes();
  // The rows above and here as they were before this loop wrote them.
  std::vector<uint8_t> above(image.row(0), image.row(0) + bytes);
  std::vector<uint8_t> here(bytes);
  for (int y = 1; y + 1 < image.height; ++y) {
    uint8_t* out = image.row(y);
    const uint8_t* below = image.row(y + 1);
    std::copy_n(out, bytes, here.begin());
    for (size_t i = 3; i + 3 < bytes; ++i) {
      const int sum = above[i - 3] + above[i] + above[i + 3] + here[i - 3] + 5 * here[i] +
                      here[i + 3] + below[i - 3] + below[i] + below[i + 3];
      out[i] = blend((2 * sum + 13) / 26, here[i], factor);  // sum / 13, rounded
    }
    above.swap(here);
  }
}

}  // namespace vig
