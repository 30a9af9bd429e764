#include "vig/data/affine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace vig {
namespace {

// Interpolation of equal neighbours must give them exactly, since fractions are dropped: hence
// differences times a fraction, not weights.
struct Linear {
  static constexpr int kTaps = 2;
  static constexpr int kBefore = 0;  // taps before the one at or left of the position
  static double at(const double* v, double t) { return v[0] + (v[1] - v[0]) * t; }
};

struct Cubic {  // Keys' cubic with a = -1
  static constexpr int kTaps = 4;
  static constexpr int kBefore = 1;
  static double at(const double* v, double t) {
    const double slope = v[2] - v[0];
    const double square = 2 * (v[0] - v[1]) + v[2] - v[3];
    const double cube = v[1] - v[0] - v[2] + v[3];
    return v[1] + t * (slope + t * (square + t * cube));
  }
};

template <typename Filter>
void sample(const Image& image, double x, double y, uint8_t* out) {
  constexpr int kTaps = Filter::kTaps;
  const double left = std::floor(x - 0.5), top = std::floor(y - 0.5);
  const int first_x = static_cast<int>(left) - Filter::kBefore;
  const int first_y = static_cast<int>(top) - Filter::kBefore;
  const double dx = x - 0.5 - left, dy = y - 0.5 - top;

  std::array<int, kTaps> columns;
  for (int i = 0; i < kTaps; ++i) columns[i] = std::clamp(first_x + i, 0, image.width - 1) * 3;
  double rows[3][kTaps];
  for (int j = 0; j < kTaps; ++j) {
    const uint8_t* row = image.row(std::clamp(first_y + j, 0, image.height - 1));
    for (int c = 0; c < 3; ++c) {
      double v[kTaps];
      for (int i = 0; i < kTaps; ++i) v[i] = row[columns[i] + c];
      rows[c][j] = Filter::at(v, dx);
    }
  }
  for (int c = 0; c < 3; ++c) {
    out[c] = static_cast<uint8_t>(std::clamp(Filter::at(rows[c], dy), 0.0, 255.0));
  }
}

template <typename Filter>
void transform_with(const Image& image, const Affine& affine, Color fill, Image& result) {
  for (int row = 0; row < result.height; ++row) {
    uint8_t* out = result.row(row);
    const double y = row + 0.5;
    for (int column = 0; column < result.width; ++column, out += 3) {
      const double x = column + 0.5;
      const double source_x = affine.xx * x + affine.xy * y + affine.x0;
      const double source_y = affine.yx * x + affine.yy * y + affine.y0;
      if (source_x >= 0 && source_x < image.width && source_y >= 0 && source_y < image.height) {
        sample<Filter>(image, source_x, source_y, out);
      } else {
        std::copy_n(fill.data(), 3, out);
      }
    }
  }
}

}  // namespace

void flip_horizontal(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    uint8_t* left = image.row(y);
    uint8_t* right = left + image.row_bytes();
    for (int x = 0; x < image.width / 2; ++x, left += 3) {
      right -= 3;
      std::swap_ranges(left, left + 3, right);
    }
  }
}

Affine Affine::rotation(double degrees, int width, int height) {
  const double angle = degrees * (std::numbers::pi / 180);
  // 15 decimals make quarter turns exact.
  const auto rounded = [](double v) { return std::round(v * 1e15) / 1e15; };
  const double cosine = rounded(std::cos(angle)), sine = rounded(std::sin(angle));
  const double x = width / 2.0, y = height / 2.0;
  return {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y};
}

Image transform(const Image& image, const Affine& affine, Interpolation interpolation, Color fill) {
  Image result(image.width, image.height);
  if (interpolation == Interpolation::kBilinear) {
    transform_with<Linear>(image, affine, fill, result);
  } else {
    transform_with<Cubic>(image, affine, fill, result);
  }
  return result;
}

}  // namespace vig
