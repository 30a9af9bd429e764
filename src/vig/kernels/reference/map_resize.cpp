#include "vig/kernels/reference/map_resize.h"

#include <vector>

namespace vig::reference {
namespace {

// f(line, column, share) for the four positions that one position of the result is made of.
template <class F>
void each_source(const MapTap& y, const MapTap& x, const F& f) {
  const double below = y.weight, right = x.weight;
  f(y.first, x.first, (1.0 - below) * (1.0 - right));
  f(y.first, x.second, (1.0 - below) * right);
  f(y.second, x.first, below * (1.0 - right));
  f(y.second, x.second, below * right);
}

}  // namespace

void map_resize(const MapResizeArgs& args) {
  const MapGrids& g = *args.grids;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (g.out_height() * g.out_width()), at = row - args.first_row;
    const MapTap& y = g.lines[static_cast<size_t>(row / g.out_width() % g.out_height())];
    const MapTap& x = g.columns[static_cast<size_t>(row % g.out_width())];
    for (int64_t c = 0; c < args.channels; ++c) {
      double sum = 0.0;
      each_source(y, x, [&](int64_t line, int64_t column, double share) {
        sum += share * args.in[((image * g.height + line) * g.width + column) * args.in_stride + c];
      });
      if (args.residual != nullptr) sum += args.residual[at * args.residual_stride + c];
      args.out[at * args.out_stride + c] = static_cast<float>(sum);
    }
  }
}

void map_resize_backward(const MapResizeBackwardArgs& args) {
  const MapGrids& g = *args.grids;
  std::vector<double> dx(static_cast<size_t>(args.batch * g.height * g.width * args.channels), 0.0);
  const float* dy = args.dy;
  for (int64_t image = 0; image < args.batch; ++image) {
    for (const MapTap& y : g.lines) {
      for (const MapTap& x : g.columns) {
        each_source(y, x, [&](int64_t line, int64_t column, double share) {
          const int64_t row = (image * g.height + line) * g.width + column;
          for (int64_t c = 0; c < args.channels; ++c) {
            dx[static_cast<size_t>(row * args.channels + c)] += share * dy[c];
          }
        });
        dy += args.channels;
      }
    }
  }
  for (size_t i = 0; i < dx.size(); ++i) args.dx[i] = static_cast<float>(dx[i]);
}

}  // namespace vig::reference
