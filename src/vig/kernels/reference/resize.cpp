#include "vig/kernels/reference/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vig::reference {
namespace {

double filter(Interpolation interpolation, double x) {
  x = std::fabs(x);
  if (interpolation == Interpolation::kBilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// Resizes the middle axis of [outer, in, inner] to [outer, out, inner].
std::vector<uint8_t> resize_axis(const uint8_t* src, int64_t outer, int64_t in, int64_t inner,
                                 int64_t out, Interpolation interpolation) {
  std::vector<uint8_t> result(static_cast<size_t>(outer * out * inner));
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double reach = (interpolation == Interpolation::kBilinear ? 1.0 : 2.0) * stretch;
  for (int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const int64_t last = std::min<int64_t>(in, static_cast<int64_t>(centre + reach + 0.5));
    std::vector<double> weights;
    double sum = 0.0;
    for (int64_t t = first; t < last; ++t) {
      weights.push_back(
          filter(interpolation, (static_cast<double>(t) - centre + 0.5) * (1.0 / stretch)));
      sum += weights.back();
    }
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t c = 0; c < inner; ++c) {
        int64_t value = int64_t{1} << 21;
        for (int64_t t = first; t < last; ++t) {
          const double weight = weights[static_cast<size_t>(t - first)] / sum * (1 << 22);
          value += static_cast<int64_t>(weight < 0.0 ? weight - 0.5 : weight + 0.5) *
                   src[(o * in + t) * inner + c];
        }
        result[static_cast<size_t>((o * out + i) * inner + c)] =
            static_cast<uint8_t>(std::clamp<int64_t>(value >> 22, 0, 255));
      }
    }
  }
  return result;
}

}  // namespace

void resize_rgb(const uint8_t* src, const ResizeAxis& x, const ResizeAxis& y,
                Interpolation interpolation, uint8_t* dst) {
  const auto wide = resize_axis(src, y.in, x.in, 3, x.out, interpolation);
  const auto whole = resize_axis(wide.data(), 1, y.in, x.out * 3, y.out, interpolation);
  for (int64_t row = 0; row < y.count; ++row) {
    const uint8_t* from = whole.data() + ((y.first + row) * x.out + x.first) * 3;
    std::copy(from, from + x.count * 3, dst + row * x.count * 3);
  }
}

}  // namespace vig::reference
