#include "vig/kernels/reference/conv.h"

#include "vig/kernels/reference/activations.h"

namespace vig::reference {
namespace {

// in[image, y, x, c], zero outside.
float pixel(const float* in, const ConvGrid& grid, int64_t image, int64_t y, int64_t x, int64_t c) {
  if (y < 0 || y >= grid.height || x < 0 || x >= grid.width) return 0.0f;
  return in[((image * grid.height + y) * grid.width + x) * grid.channels + c];
}

}  // namespace

void depthwise_conv(const float* weight, const DepthwiseConvArgs& args) {
  const Windows& w = args.windows;
  const int64_t channels = args.grid.channels;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (w.height * w.width);
    const int64_t y = row / w.width % w.height * w.stride - w.top;
    const int64_t x = row % w.width * w.stride - w.left;
    for (int64_t c = 0; c < channels; ++c) {
      double sum = args.bias == nullptr ? 0.0 : args.bias[c];
      for (int64_t ky = 0; ky < w.kernel; ++ky) {
        for (int64_t kx = 0; kx < w.kernel; ++kx) {
          sum += static_cast<double>(weight[(c * w.kernel + ky) * w.kernel + kx]) *
                 pixel(args.in, args.grid, image, y + ky, x + kx, c);
        }
      }
      args.out[(row - args.first_row) * args.out_stride + c] =
          static_cast<float>(apply(args.function, sum));
    }
  }
}

void gather_patches(const PatchArgs& args) {
  const Windows& w = args.windows;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / w.positions();
    const int64_t y = row / w.width % w.height * w.stride - w.top;
    const int64_t x = row % w.width * w.stride - w.left;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    for (int64_t ky = 0; ky < w.kernel; ++ky) {
      for (int64_t kx = 0; kx < w.kernel; ++kx) {
        for (int64_t c = 0; c < args.grid.channels; ++c) {
          *out++ = pixel(args.in, args.grid, image, y + ky, x + kx, c);
        }
      }
    }
  }
}

}  // namespace vig::reference
