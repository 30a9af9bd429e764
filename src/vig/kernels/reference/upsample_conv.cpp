#include "vig/kernels/reference/upsample_conv.h"

#include "vig/kernels/reference/activations.h"

namespace vig::reference {

void upsample_conv(const float* weight, const float* bias, const UpsampleConvArgs& args) {
  const UpsampleShape& s = args.shape;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (4 * s.height * s.width);
    const int64_t y = row / (2 * s.width) % (2 * s.height), x = row % (2 * s.width);
    const int64_t part = y % 2 * 2 + x % 2, at = row - args.first_row;
    const float* in = args.in + ((image * s.height + y / 2) * s.width + x / 2) * args.in_stride;
    for (int64_t o = 0; o < s.out_channels; ++o) {
      double sum = bias == nullptr ? 0.0 : bias[o];
      for (int64_t c = 0; c < s.in_channels; ++c) {
        sum += static_cast<double>(in[c]) * weight[(c * s.out_channels + o) * 4 + part];
      }
      if (args.residual != nullptr) sum += args.residual[at * args.residual_stride + o];
      args.out[at * args.out_stride + o] = static_cast<float>(apply(args.function, sum));
    }
  }
}

}  // namespace vig::reference
