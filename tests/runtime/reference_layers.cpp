#include "runtime/reference_layers.h"

#include <vector>

#include "vig/kernels/conv_dense.h"
#include "vig/kernels/reference/gemm_int8.h"
#include "vig/kernels/reference/long_conv.h"
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

void reference_s4(const S4ConvOp& op, const Shape& a,
                  const std::function<const float*(size_t)>& param, const LayerInput& in,
                  const Grid& grid, float* out) {
  const int64_t channels = in.grid.channels, taps = op.length;
  S4TapsArgs space;
  space.channels = channels;
  space.rows = 2 * op.copies;
  space.systems = a[0];
  space.pairs = a[1];
  space.inv_dt = param(1);
  space.c = param(2);
  space.b = param(3);
  space.a_real = param(4);
  space.a_imag = param(5);
  space.p = param(6);
  space.l_kernel = s4_kernel_length(*param(7));
  space.length = taps;
  std::vector<float> made(static_cast<size_t>(space.rows * taps * channels));
  space.taps = made.data();
  reference::s4_taps(space);
  for (int64_t m = 0; m < op.copies; ++m) {
    std::vector<float> rows;
    for (int64_t distance = -taps; distance < taps; ++distance) {
      const int64_t row =
          distance < 0 ? (op.copies + m) * taps - distance - 1 : m * taps + distance;
      for (int64_t h = 0; h < channels; ++h) {
        const float skip = distance == 0 ? param(0)[m * channels + h] : 0.0f;
        rows.push_back(made[static_cast<size_t>(row * channels + h)] + skip);
      }
    }
    LongConvArgs args;
    args.tokens = grid.positions();
    args.channels = args.in_stride = channels;
    args.in = in.data;
    args.out = out + m * channels;
    args.out_stride = grid.channels;
    reference::long_conv(args, {rows.data(), channels, taps, taps});
  }
}

}  // namespace vig::test
