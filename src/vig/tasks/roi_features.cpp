#include "vig/tasks/roi_features.h"

#include <algorithm>
#include <cmath>

namespace vig {
namespace {

struct Tap {
  int first = 0, second = 0;
  float weight = 0;  // of the second
  bool inside = false;
};

Tap tap_at(float position, int size) {
  if (position < -1.0f || position > static_cast<float>(size)) return {};
  const float inside = std::clamp(position, 0.0f, static_cast<float>(size - 1));
  const auto first = static_cast<int>(inside);
  return {first, std::min(first + 1, size - 1), inside - static_cast<float>(first), true};
}

}  // namespace

int roi_level(const Box& box, const DetectorNumbers& numbers) {
  const float scale = std::sqrt(box.width() * box.height());
  const float level = std::floor(std::log2(scale / numbers.finest_scale + 1e-6f));
  if (!(level > 0)) return 0;
  return static_cast<int>(std::min(level, static_cast<float>(numbers.roi_levels - 1)));
}

void roi_features(std::span<const PyramidLevel> levels, const Box& box,
                  const DetectorNumbers& numbers, int side, float* out) {
  const auto index = static_cast<size_t>(roi_level(box, numbers));
  const PyramidLevel& level = levels[index];
  const float scale = 1.0f / static_cast<float>(numbers.strides[index]);
  const auto channels = static_cast<size_t>(level.channels);
  const float x = box.x1 * scale - 0.5f, y = box.y1 * scale - 0.5f;
  const float width = box.x2 * scale - 0.5f - x, height = box.y2 * scale - 0.5f - y;
  const auto sides = static_cast<float>(side);
  const float cell_width = width / sides, cell_height = height / sides;
  const int columns = std::max(0, static_cast<int>(std::ceil(cell_width)));
  const int rows = std::max(0, static_cast<int>(std::ceil(cell_height)));
  std::fill_n(out, static_cast<size_t>(side) * static_cast<size_t>(side) * channels, 0.0f);
  if (columns == 0 || rows == 0) return;
  const float share = 1.0f / static_cast<float>(columns * rows);
  const auto at = [](float start, float cell, int bin, int sample, int samples) {
    return start + (static_cast<float>(bin) +
                    (static_cast<float>(sample) + 0.5f) / static_cast<float>(samples)) *
                       cell;
  };
  const auto cell_values = [&](int row, int column) {
    return level.values + (static_cast<size_t>(row) * static_cast<size_t>(level.width) +
                           static_cast<size_t>(column)) *
                              channels;
  };
  for (int p = 0; p < side * side; ++p) {
    float* cell = out + static_cast<size_t>(p) * channels;
    for (int i = 0; i < rows; ++i) {
      const Tap v = tap_at(at(y, cell_height, p / side, i, rows), level.height);
      if (!v.inside) continue;
      for (int j = 0; j < columns; ++j) {
        const Tap u = tap_at(at(x, cell_width, p % side, j, columns), level.width);
        if (!u.inside) continue;
        const float* a = cell_values(v.first, u.first);
        const float* b = cell_values(v.first, u.second);
        const float* c = cell_values(v.second, u.first);
        const float* d = cell_values(v.second, u.second);
        const float wa = (1 - v.weight) * (1 - u.weight), wb = (1 - v.weight) * u.weight;
        const float wc = v.weight * (1 - u.weight), wd = v.weight * u.weight;
        for (size_t k = 0; k < channels; ++k) {
          cell[k] += wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k];
        }
      }
    }
    for (size_t k = 0; k < channels; ++k) cell[k] *= share;
  }
}

}  // namespace vig
