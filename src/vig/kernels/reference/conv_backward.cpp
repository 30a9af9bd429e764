#include "vig/kernels/reference/conv_backward.h"

#include <vector>

namespace vig::reference {
namespace {

// Calls f(window, position, tap) for the positions of the grid that windows [first, last) see.
template <class F>
void for_each_pair(const ConvGrid& g, const Windows& w, int64_t first, int64_t last, const F& f) {
  for (int64_t window = first; window < last; ++window) {
    const int64_t image = window / (w.height * w.width);
    for (int64_t tap = 0; tap < w.kernel * w.kernel; ++tap) {
      const int64_t y = window / w.width % w.height * w.stride - w.top + tap / w.kernel;
      const int64_t x = window % w.width * w.stride - w.left + tap % w.kernel;
      const bool inside = y >= 0 && y < g.height && x >= 0 && x < g.width;
      if (inside) f(window, (image * g.height + y) * g.width + x, tap);
    }
  }
}

// Rows [first, last) of sums over a whole batch.
void store_rows(const std::vector<double>& sums, int64_t channels, int64_t first, int64_t last,
                float* out, int64_t stride) {
  for (int64_t row = first; row < last; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      out[(row - first) * stride + c] =
          static_cast<float>(sums[static_cast<size_t>(row * channels + c)]);
    }
  }
}

}  // namespace

void depthwise_input_backward(const float* weight, int64_t batch, const DepthwiseInputArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  std::vector<double> sums(static_cast<size_t>(batch * g.height * g.width * g.channels));
  for_each_pair(g, w, 0, batch * w.height * w.width,
                [&](int64_t window, int64_t position, int64_t tap) {
                  for (int64_t c = 0; c < g.channels; ++c) {
                    sums[static_cast<size_t>(position * g.channels + c)] +=
                        static_cast<double>(weight[c * w.kernel * w.kernel + tap]) *
                        args.dy[window * g.channels + c];
                  }
                });
  store_rows(sums, g.channels, args.first_row, args.last_row, args.dx, args.dx_stride);
}

void depthwise_weight_backward(const DepthwiseWeightArgs& args) {
  const int64_t channels = args.grid.channels;
  const Windows& w = args.windows;
  std::vector<double> sums(static_cast<size_t>(w.kernel * w.kernel * channels));
  for_each_pair(args.grid, w, args.first_row, args.last_row,
                [&](int64_t window, int64_t position, int64_t tap) {
                  for (int64_t c = 0; c < channels; ++c) {
                    sums[static_cast<size_t>(tap * channels + c)] +=
                        static_cast<double>(args.in[position * channels + c]) *
                        args.dy[(window - args.first_row) * args.dy_stride + c];
                  }
                });
  for (size_t i = 0; i < sums.size(); ++i) {
    args.dtaps[i] = static_cast<float>(args.dtaps[i] + sums[i]);
  }
}

void scatter_patches(int64_t batch, const ScatterArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  std::vector<double> sums(static_cast<size_t>(batch * g.height * g.width * g.channels));
  for_each_pair(g, w, 0, batch * w.height * w.width,
                [&](int64_t window, int64_t position, int64_t tap) {
                  for (int64_t c = 0; c < g.channels; ++c) {
                    sums[static_cast<size_t>(position * g.channels + c)] +=
                        args.patches[window * args.patch_stride + tap * g.channels + c];
                  }
                });
  store_rows(sums, g.channels, args.first_row, args.last_row, args.out, args.out_stride);
}

}  // namespace vig::reference
