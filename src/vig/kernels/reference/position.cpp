#include "vig/kernels/reference/position.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

// A position of the output grid and the size of that grid.
struct Position {
  int64_t y, x, rows, cols;
};

// Calls f(entry, weight) for every entry that `position` sees, those on the border several times.
template <class F>
void for_each_entry(const Position& position, int64_t rows, int64_t cols, const F& f) {
  constexpr int64_t kBorder = 3;  // no output reaches further out
  for (int64_t i = -kBorder; i < rows + kBorder; ++i) {
    const double wy = cubic(centre(position.y, position.rows, rows) - static_cast<double>(i));
    if (wy == 0.0) continue;
    for (int64_t j = -kBorder; j < cols + kBorder; ++j) {
      const double wx = cubic(centre(position.x, position.cols, cols) - static_cast<double>(j));
      const int64_t row = std::clamp<int64_t>(i, 0, rows - 1);
      const int64_t col = std::clamp<int64_t>(j, 0, cols - 1);
      f(row * cols + col, wy * wx);
    }
  }
}

}  // namespace

void resize_positions(const PositionArgs& args) {
  for (int64_t y = 0; y < args.out_rows; ++y) {
    for (int64_t x = 0; x < args.out_cols; ++x) {
      for (int64_t c = 0; c < args.channels; ++c) {
        double sum = 0.0;
        for_each_entry({y, x, args.out_rows, args.out_cols}, args.rows, args.cols,
                       [&](int64_t entry, double weight) {
                         sum += weight * args.table[entry * args.channels + c];
                       });
        args.out[(y * args.out_cols + x) * args.channels + c] = static_cast<float>(sum);
      }
    }
  }
}

void resize_positions_backward(const PositionBackwardArgs& args) {
  std::vector<double> sums(static_cast<size_t>(args.rows * args.cols * args.channels));
  for (int64_t y = 0; y < args.out_rows; ++y) {
    for (int64_t x = 0; x < args.out_cols; ++x) {
      for_each_entry({y, x, args.out_rows, args.out_cols}, args.rows, args.cols,
                     [&](int64_t entry, double weight) {
                       for (int64_t c = 0; c < args.channels; ++c) {
                         sums[static_cast<size_t>(entry * args.channels + c)] +=
                             weight * args.dout[(y * args.out_cols + x) * args.channels + c];
                       }
                     });
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) args.dtable[i] = static_cast<float>(sums[i]);
}

}  // namespace vig::reference
