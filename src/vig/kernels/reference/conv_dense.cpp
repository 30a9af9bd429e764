#include "vig/kernels/reference/conv_dense.h"

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

void dense_conv(const float* weight, const float* bias, const DenseConvArgs& args) {
  const ConvShape& s = args.shape;
  const Windows& w = s.windows;
  const int64_t inputs = s.group_inputs();
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t at = row - args.first_row;
    const int64_t image = row / s.positions();
    const int64_t y0 = row / w.width % w.height * w.stride - w.top;
    const int64_t x0 = row % w.width * w.stride - w.left;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      const int64_t first = o / s.group_outputs() * inputs;
      double sum = bias == nullptr ? 0.0 : bias[o];
      for (int64_t c = 0; c < inputs; ++c) {
        for (int64_t tap = 0; tap < s.area(); ++tap) {
          const int64_t y = y0 + tap / w.kernel, x = x0 + tap % w.kernel;
          if (y < 0 || y >= s.in.height || x < 0 || x >= s.in.width) continue;
          const int64_t pixel = (image * s.in.height + y) * s.in.width + x;
          sum += static_cast<double>(weight[(o * inputs + c) * s.area() + tap]) *
                 args.in[pixel * s.in.channels + first + c];
        }
      }
      if (args.residual != nullptr) sum += args.residual[at * args.residual_stride + o];
      args.out[at * args.out_stride + o] = static_cast<float>(apply(args.function, sum));
    }
  }
}

}  // namespace vig::reference
