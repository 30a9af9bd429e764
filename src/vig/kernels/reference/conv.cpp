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
  const ConvGrid& g = args.grid;
  const int64_t half = args.kernel / 2;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (g.height * g.width);
    const int64_t y = row / g.width % g.height, x = row % g.width;
    for (int64_t c = 0; c < g.channels; ++c) {
      double sum = 0.0;
      for (int64_t ky = 0; ky < args.kernel; ++ky) {
        for (int64_t kx = 0; kx < args.kernel; ++kx) {
          sum += static_cast<double>(weight[(c * args.kernel + ky) * args.kernel + kx]) *
                 pixel(args.in, g, image, y + ky - half, x + kx - half, c);
        }
      }
      args.out[(row - args.first_row) * args.out_stride + c] =
          static_cast<float>(apply(args.function, sum));
    }
  }
}

void gather_patches(const PatchArgs& args) {
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (args.out_height * args.out_width);
    const int64_t y = row / args.out_width % args.out_height, x = row % args.out_width;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    for (int64_t ky = 0; ky < args.kernel; ++ky) {
      for (int64_t kx = 0; kx < args.kernel; ++kx) {
        for (int64_t c = 0; c < args.grid.channels; ++c) {
          out[(ky * args.kernel + kx) * args.grid.channels + c] =
              pixel(args.in, args.grid, image, y * args.stride - args.padding + ky,
                    x * args.stride - args.padding + kx, c);
        }
      }
    }
  }
}

}  // namespace vig::reference
