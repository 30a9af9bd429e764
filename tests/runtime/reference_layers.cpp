#include "runtime/reference_layers.h"

#include <algorithm>
#include <vector>

#include "vig/kernels/conv_dense.h"
#include "vig/kernels/reference/gemm_int8.h"
#include "vig/kernels/reference/long_conv.h"
#include "vig/kernels/reference/pool.h"
#include "vig/kernels/reference/s4_taps.h"

namespace vig::test {

void reference_int8(const Int8Layer& layer, float* out) {
  const int64_t positions = layer.windows.height * layer.windows.width;
  const int64_t k = layer.windows.kernel * layer.windows.kernel * layer.read, n = layer.channels;
  std::vector<float> seen;
  for (int64_t at = 0; at < positions; ++at) {
    for (int64_t i = 0; i < k; ++i) {
      const int64_t tap = i / layer.read;
      const int64_t y = at / layer.windows.width * layer.windows.stride - layer.windows.top +
                        tap / layer.windows.kernel;
      const int64_t x = at % layer.windows.width * layer.windows.stride - layer.windows.left +
                        tap % layer.windows.kernel;
      const bool inside = y >= 0 && y < layer.from.height && x >= 0 && x < layer.from.width;
      const int64_t index =
          (y * layer.from.width + x) * layer.from.channels + layer.first + i % layer.read;
      seen.push_back(inside ? layer.in[index] : 0.0f);
    }
  }
  std::vector<float> ordered(static_cast<size_t>(n * k));
  patch_weight(layer.weight, n, layer.read, layer.windows.kernel, ordered.data());
  Int8GemmArgs args;
  args.rows = positions;
  args.weight = {nullptr, n, k, false};
  args.c = out;
  args.ldc = n;
  reference::gemm_int8(seen.data(), k, ordered.data(), layer.bias, args);
}

void reference_average_pool(const AveragePoolOp& op, const LayerInput& in, const Grid& grid,
                            float* out) {
  MaxPoolArgs args;
  args.in = in.data;
  args.grid = {in.grid.height, in.grid.width, in.grid.channels};
  args.windows = {op.side, op.side, 0, 0, grid.height, grid.width};
  args.last_row = grid.positions();
  args.out = out;
  args.out_stride = grid.channels;
  reference::average_pool(args);
}

std::vector<float> reference_window_bias(const WindowAttentionOp& op, const float* table,
                                         int64_t head) {
  const int wh = op.window_height, ww = op.window_width, n = wh * ww;
  std::vector<float> bias(static_cast<size_t>(n) * static_cast<size_t>(n));
  for (int i = 0; table != nullptr && i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const int y = i / ww - j / ww + wh - 1, x = i % ww - j % ww + ww - 1;
      bias[static_cast<size_t>(i * n + j)] = table[(y * (2 * ww - 1) + x) * op.heads + head];
    }
  }
  return bias;
}

S4Shapes s4_shapes(const Graph& graph, const Node& node) {
  const size_t first = node.params.size() - kS4KernelParams;
  const auto shape = [&](size_t i) -> const Shape& {
    return graph.params[static_cast<size_t>(node.params[first + i])].shape;
  };
  return {shape(3), shape(1)[1], first > 0};
}

void reference_s4(const S4ConvOp& op, const S4Shapes& shapes,
                  const std::function<const float*(size_t)>& param, const LayerInput& in,
                  const Grid& grid, float* out) {
  const int64_t channels = shapes.channels, taps = op.length;
  const size_t first = shapes.has_d ? 1 : 0;
  S4TapsArgs space;
  space.channels = channels;
  space.rows = 2 * op.copies;
  space.systems = shapes.a[0];
  space.pairs = shapes.a[1];
  space.inv_dt = param(first);
  space.c = param(first + 1);
  space.b = param(first + 2);
  space.a_real = param(first + 3);
  space.a_imag = param(first + 4);
  space.p = param(first + 5);
  space.l_kernel = s4_kernel_length(*param(first + 6));
  space.length = taps;
  std::vector<float> made(static_cast<size_t>(space.rows * taps * channels));
  space.taps = made.data();
  reference::s4_taps(space);
  // One channel of the result at a time, along each line.
  const bool down = op.axis == S4Axis::kDown, across = op.axis == S4Axis::kAcross;
  const int64_t lines = down ? grid.width : across ? grid.height : 1;
  const int64_t tokens = down ? grid.height : across ? grid.width : grid.positions();
  for (int64_t to = 0; to < grid.channels; ++to) {
    const int64_t m = op.channel >= 0 ? to : to / channels;
    const int64_t h = op.channel >= 0 ? op.channel : to % channels;
    const int64_t from = op.channel >= 0 ? std::min<int64_t>(to, in.grid.channels - 1) : h;
    std::vector<float> rows;
    for (int64_t distance = -taps; distance < taps; ++distance) {
      const int64_t row =
          distance < 0 ? (op.copies + m) * taps - distance - 1 : m * taps + distance;
      const float skip = distance == 0 && shapes.has_d ? param(0)[m * channels + h] : 0.0f;
      rows.push_back(made[static_cast<size_t>(row * channels + h)] + skip);
    }
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t start = across ? line * grid.width : line;
      const int64_t apart = down ? grid.width : 1;
      LongConvArgs args;
      args.tokens = tokens;
      args.channels = 1;
      args.in = in.data + start * in.grid.channels + from;
      args.in_stride = apart * in.grid.channels;
      args.out = out + start * grid.channels + to;
      args.out_stride = apart * grid.channels;
      reference::long_conv(args, {rows.data(), 1, taps, taps});
    }
  }
}

}  // namespace vig::test
