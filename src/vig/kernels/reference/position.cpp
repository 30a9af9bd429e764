#include "vig/kernels/reference/position.h"

#include <algorithm>
#include <cmath>

namespace vig::reference {
namespace {

// Keys' cubic convolution kernel with a = -3/4.
double cubic(double x) {
  constexpr double a = -0.75;
  x = std::fabs(x);
  if (x < 1.0) return (a + 2.0) * x * x * x - (a + 3.0) * x * x + 1.0;
  if (x < 2.0) return a * (x * x * x - 5.0 * x * x + 8.0 * x - 4.0);
  return 0.0;
}

double centre(int64_t i, int64_t out, int64_t in) {
  return (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
}

}  // namespace

void resize_positions(const PositionArgs& args) {
  constexpr int64_t kBorder = 3;  // no output reaches further out
  for (int64_t y = 0; y < args.out_rows; ++y) {
    for (int64_t x = 0; x < args.out_cols; ++x) {
      for (int64_t c = 0; c < args.channels; ++c) {
        double sum = 0.0;
        for (int64_t i = -kBorder; i < args.rows + kBorder; ++i) {
          const double wy = cubic(centre(y, args.out_rows, args.rows) - static_cast<double>(i));
          if (wy == 0.0) continue;
          for (int64_t j = -kBorder; j < args.cols + kBorder; ++j) {
            const double wx = cubic(centre(x, args.out_cols, args.cols) - static_cast<double>(j));
            const int64_t row = std::clamp<int64_t>(i, 0, args.rows - 1);
            const int64_t col = std::clamp<int64_t>(j, 0, args.cols - 1);
            sum += wy * wx * args.table[(row * args.cols + col) * args.channels + c];
          }
        }
        args.out[(y * args.out_cols + x) * args.channels + c] = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace vig::reference
