#include "vig/kernels/reference/conv_backward.h"

#include <vector>

namespace vig::reference {
namespace {

bool inside(const ConvGrid& grid, int64_t y, int64_t x) {
  return y >= 0 && y < grid.height && x >= 0 && x < grid.width;
}

// Calls f(row of the output, row of the neighbour, tap) for the neighbours that exist.
template <class F>
void for_each_pair(const ConvGrid& g, int64_t kernel, int64_t stride, int64_t pad, int64_t first,
                   int64_t last, const F& f) {
  const int64_t height = (g.height + 2 * pad - kernel) / stride + 1;
  const int64_t width = (g.width + 2 * pad - kernel) / stride + 1;
  for (int64_t row = first; row < last; ++row) {
    const int64_t image = row / (height * width);
    for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
      const int64_t y = row / width % height * stride + tap / kernel - pad;
      const int64_t x = row % width * stride + tap % kernel - pad;
      if (inside(g, y, x)) f(row, (image * g.height + y) * g.width + x, tap);
    }
  }
}

}  // namespace

void depthwise_input_backward(const float* weight, const ConvGrid& grid, int64_t kernel,
                              int64_t batch, const float* dy, int64_t dy_stride, float* dx,
                              int64_t stride, int64_t padding) {
  const int64_t pad = padding < 0 ? kernel / 2 : padding;
  const int64_t rows = batch * ((grid.height + 2 * pad - kernel) / stride + 1) *
                       ((grid.width + 2 * pad - kernel) / stride + 1);
  std::vector<double> sums(static_cast<size_t>(batch * grid.height * grid.width * grid.channels));
  for_each_pair(
      grid, kernel, stride, pad, 0, rows, [&](int64_t row, int64_t neighbour, int64_t tap) {
        for (int64_t c = 0; c < grid.channels; ++c) {
          sums[static_cast<size_t>(neighbour * grid.channels + c)] +=
              static_cast<double>(weight[c * kernel * kernel + tap]) * dy[row * dy_stride + c];
        }
      });
  for (size_t i = 0; i < sums.size(); ++i) dx[i] = static_cast<float>(sums[i]);
}

void depthwise_weight_backward(const DepthwiseWeightArgs& args) {
  const int64_t channels = args.grid.channels;
  std::vector<double> sums(static_cast<size_t>(args.kernel * args.kernel * channels));
  for_each_pair(args.grid, args.kernel, args.stride, args.pad(), args.first_row, args.last_row,
                [&](int64_t row, int64_t neighbour, int64_t tap) {
                  for (int64_t c = 0; c < channels; ++c) {
                    sums[static_cast<size_t>(tap * channels + c)] +=
                        static_cast<double>(args.in[neighbour * channels + c]) *
                        args.dy[(row - args.first_row) * args.dy_stride + c];
                  }
                });
  for (size_t i = 0; i < sums.size(); ++i) {
    args.dtaps[i] = static_cast<float>(args.dtaps[i] + sums[i]);
  }
}

void scatter_patches(int64_t batch, const ScatterArgs& args) {
  const ConvGrid& g = args.grid;
  std::vector<double> sums(static_cast<size_t>(batch * g.height * g.width * g.channels));
  for (int64_t patch = 0; patch < batch * args.out_height * args.out_width; ++patch) {
    const int64_t image = patch / (args.out_height * args.out_width);
    for (int64_t tap = 0; tap < args.kernel * args.kernel; ++tap) {
      const int64_t y =
          patch / args.out_width % args.out_height * args.stride - args.padding + tap / args.kernel;
      const int64_t x = patch % args.out_width * args.stride - args.padding + tap % args.kernel;
      if (!inside(g, y, x)) continue;
      for (int64_t c = 0; c < g.channels; ++c) {
        sums[static_cast<size_t>(((image * g.height + y) * g.width + x) * g.channels + c)] +=
            args.patches[patch * args.patch_stride + tap * g.channels + c];
      }
    }
  }
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    for (int64_t c = 0; c < g.channels; ++c) {
      args.out[(row - args.first_row) * args.out_stride + c] =
          static_cast<float>(sums[static_cast<size_t>(row * g.channels + c)]);
    }
  }
}

}  // namespace vig::reference
