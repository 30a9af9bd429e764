#include "vig/kernels/reference/pool.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace vig::reference {

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    for (int64_t r = 0; r < count; ++r) sum += rows[r * stride + c];
    mean[c] = static_cast<float>(sum / static_cast<double>(count));
  }
}

void max_pool(const MaxPoolArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (w.height * w.width);
    for (int64_t c = 0; c < g.channels; ++c) {
      float largest = -std::numeric_limits<float>::infinity();
      for (int64_t tap = 0; tap < w.kernel * w.kernel; ++tap) {
        const int64_t y = row / w.width % w.height * w.stride - w.top + tap / w.kernel;
        const int64_t x = row % w.width * w.stride - w.left + tap % w.kernel;
        if (y < 0 || y >= g.height || x < 0 || x >= g.width) continue;
        const float v = args.in[((image * g.height + y) * g.width + x) * g.channels + c];
        if (v > largest || std::isnan(v)) largest = v;
      }
      args.out[(row - args.first_row) * args.out_stride + c] = largest;
    }
  }
}

void average_pool(const MaxPoolArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const auto side = static_cast<double>(w.kernel);
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (w.height * w.width);
    for (int64_t c = 0; c < g.channels; ++c) {
      double sum = 0;
      for (int64_t y = 0; y < w.kernel; ++y) {
        for (int64_t x = 0; x < w.kernel; ++x) {
          const int64_t line = image * g.height + row / w.width % w.height * w.kernel + y;
          sum += args.in[(line * g.width + row % w.width * w.kernel + x) * g.channels + c];
        }
      }
      args.out[(row - args.first_row) * args.out_stride + c] =
          static_cast<float>(sum / (side * side));
    }
  }
}

namespace {

// Part i of an axis: from the floor of its begin to the ceiling of its end.
std::pair<int64_t, int64_t> part(int64_t i, int64_t size, int64_t cells) {
  const double length = static_cast<double>(size) / static_cast<double>(cells);
  // Integral bounds may be off by a rounding error.
  const double begin = static_cast<double>(i) * length, end = static_cast<double>(i + 1) * length;
  return {static_cast<int64_t>(std::floor(begin + 1e-9)),
          static_cast<int64_t>(std::ceil(end - 1e-9))};
}

// f(cell, row of the map, size of the cell) for every position of every cell of one image.
template <class F>
void each_of_cells(const ConvGrid& g, int64_t cells, const F& f) {
  for (int64_t cell = 0; cell < cells * cells; ++cell) {
    const auto [y0, y1] = part(cell / cells, g.height, cells);
    const auto [x0, x1] = part(cell % cells, g.width, cells);
    for (int64_t y = y0; y < y1; ++y) {
      for (int64_t x = x0; x < x1; ++x) f(cell, y * g.width + x, (y1 - y0) * (x1 - x0));
    }
  }
}

}  // namespace

void pool_cells(const CellPoolArgs& args) {
  const int64_t channels = args.grid.channels;
  std::vector<double> sums(static_cast<size_t>(args.cells * args.cells * channels), 0.0);
  each_of_cells(args.grid, args.cells, [&](int64_t cell, int64_t row, int64_t size) {
    for (int64_t c = 0; c < channels; ++c) {
      sums[static_cast<size_t>(cell * channels + c)] +=
          static_cast<double>(args.in[row * args.in_stride + c]) / static_cast<double>(size);
    }
  });
  for (int64_t cell = 0; cell < args.cells * args.cells; ++cell) {
    for (int64_t c = 0; c < channels; ++c) {
      args.out[cell * args.out_stride + c] =
          static_cast<float>(sums[static_cast<size_t>(cell * channels + c)]);
    }
  }
}

void pool_cells_backward(const CellPoolBackwardArgs& args) {
  const ConvGrid& g = args.grid;
  const int64_t map = g.height * g.width * g.channels;
  std::vector<double> dx(static_cast<size_t>(args.batch * map), 0.0);
  for (int64_t image = 0; image < args.batch; ++image) {
    each_of_cells(g, args.cells, [&](int64_t cell, int64_t row, int64_t size) {
      for (int64_t c = 0; c < g.channels; ++c) {
        const int64_t from = (image * args.cells * args.cells + cell) * g.channels + c;
        dx[static_cast<size_t>(image * map + row * g.channels + c)] +=
            static_cast<double>(args.dy[from]) / static_cast<double>(size);
      }
    });
  }
  for (size_t i = 0; i < dx.size(); ++i) args.dx[i] = static_cast<float>(dx[i]);
}

}  // namespace vig::reference
