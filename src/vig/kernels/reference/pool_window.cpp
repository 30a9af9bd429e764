#include "vig/kernels/reference/pool_window.h"

#include <cmath>
#include <vector>

namespace vig::reference {
namespace {

// The input rows of an output row's window, in order.
std::vector<int64_t> window_rows(const PoolWindow& w, int64_t row) {
  const int64_t width = w.out_width(), height = w.out_height();
  const int64_t image = row / (height * width), oy = row / width % height, ox = row % width;
  std::vector<int64_t> rows;
  for (int64_t tap = 0; tap < w.kernel * w.kernel; ++tap) {
    const int64_t y = oy * w.stride - w.padding + tap / w.kernel;
    const int64_t x = ox * w.stride - w.padding + tap % w.kernel;
    if (y < 0 || y >= w.in.height || x < 0 || x >= w.in.width) continue;
    rows.push_back((image * w.in.height + y) * w.in.width + x);
  }
  return rows;
}

double count_of(const PoolWindow& w, const std::vector<int64_t>& rows) {
  return static_cast<double>(w.kind == PoolKind::kMean ? w.kernel * w.kernel
                                                       : static_cast<int64_t>(rows.size()));
}

int64_t row_of_max(const float* in, int64_t channels, int64_t c, const std::vector<int64_t>& rows) {
  int64_t largest = rows.front();
  for (const int64_t row : rows) {
    const float v = in[row * channels + c];
    if (v > in[largest * channels + c] || std::isnan(v)) largest = row;
  }
  return largest;
}

}  // namespace

void pool_windows(const PoolArgs& args) {
  const PoolWindow& w = args.window;
  const int64_t channels = w.in.channels;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const std::vector<int64_t> rows = window_rows(w, row);
    for (int64_t c = 0; c < channels; ++c) {
      double value = 0.0;
      if (w.kind == PoolKind::kMax) {
        value = args.in[row_of_max(args.in, channels, c, rows) * channels + c];
      } else {
        for (const int64_t in : rows) value += args.in[in * channels + c];
        value /= count_of(w, rows);
      }
      args.out[(row - args.first_row) * args.out_stride + c] = static_cast<float>(value);
    }
  }
}

void pool_windows_backward(int64_t batch, const PoolBackwardArgs& args) {
  const PoolWindow& w = args.window;
  const int64_t channels = w.in.channels;
  std::vector<double> sums(static_cast<size_t>(batch * w.in.height * w.in.width * channels));
  for (int64_t row = 0; row < batch * w.out_height() * w.out_width(); ++row) {
    const std::vector<int64_t> rows = window_rows(w, row);
    for (int64_t c = 0; c < channels; ++c) {
      const double dy = args.dy[row * channels + c];
      if (w.kind == PoolKind::kMax) {
        const int64_t to = row_of_max(args.in, channels, c, rows) * channels + c;
        sums[static_cast<size_t>(to)] += dy;
      } else {
        for (const int64_t in : rows) {
          sums[static_cast<size_t>(in * channels + c)] += dy / count_of(w, rows);
        }
      }
    }
  }
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      args.dx[(row - args.first_row) * args.dx_stride + c] =
          static_cast<float>(sums[static_cast<size_t>(row * channels + c)]);
    }
  }
}

}  // namespace vig::reference
