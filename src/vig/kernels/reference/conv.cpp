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
  const int64_t height = args.out_height(), width = args.out_width();
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (height * width);
    const int64_t y = row / width % height * args.stride - args.pad();
    const int64_t x = row % width * args.stride - args.pad();
    for (int64_t c = 0; c < g.channels; ++c) {
      double sum = args.bias == nullptr ? 0.0 : args.bias[c];
      for (int64_t ky = 0; ky < args.kernel; ++ky) {
        for (int64_t kx = 0; kx < args.kernel; ++kx) {
          sum += static_cast<double>(weight[(c * args.kernel + ky) * args.kernel + kx]) *
                 pixel(args.in, g, image, y + ky, x + kx, c);
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
