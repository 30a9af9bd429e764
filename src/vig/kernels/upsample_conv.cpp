#include "vig/kernels/upsample_conv.h"

#include <algorithm>
#include <vector>

#include "vig/kernels/gemm.h"

namespace vig {
namespace {

constexpr int64_t kParts = 4;  // filters, one for each position of a window

// Of one part, whole cache lines.
size_t part_floats(int64_t in_channels, int64_t out_channels) {
  constexpr size_t kLine = 16;
  const size_t floats = gemm_packed_floats(out_channels, in_channels, false);
  return (floats + kLine - 1) / kLine * kLine;
}

// The rows of one part: those in lines of its parity, and of such a line every other one.
void run_part(const UpsampleConvArgs& args, int64_t part) {
  const UpsampleShape& s = args.shape;
  const int64_t parity = part / 2, side = part % 2, out_width = 2 * s.width;
  GemmArgs product;
  product.weight = {
      args.panels + static_cast<size_t>(part) * part_floats(s.in_channels, s.out_channels),
      s.out_channels, s.in_channels, false};
  product.lda = args.in_stride;
  product.ldc = 2 * args.out_stride;
  product.ldr = 2 * args.residual_stride;
  product.function = args.function;
  product.first_panel = args.first_block;
  product.last_panel = args.last_block;
  // Lines are counted over the batch: an image has an even number of them.
  for (int64_t row = args.first_row; row < args.last_row;) {
    const int64_t line = row / out_width, from = row % out_width;
    const int64_t to = std::min(out_width, from + args.last_row - row);
    row += to - from;
    if (line % 2 != parity) continue;
    const int64_t first = (from + 1 - side) / 2, last = (to + 1 - side) / 2;
    if (first == last) continue;
    const int64_t at = line * out_width + 2 * first + side - args.first_row;
    product.a = args.in + (line / 2 * s.width + first) * args.in_stride;
    product.rows = last - first;
    product.c = args.out + at * args.out_stride;
    if (args.residual != nullptr) product.residual = args.residual + at * args.residual_stride;
    gemm(product);
  }
}

}  // namespace

size_t upsample_packed_floats(int64_t in_channels, int64_t out_channels) {
  return kParts * part_floats(in_channels, out_channels);
}

void upsample_pack(const float* weight, const float* bias, int64_t in_channels,
                   int64_t out_channels, float* panels) {
  std::vector<float> filter(static_cast<size_t>(in_channels * out_channels));
  for (int64_t part = 0; part < kParts; ++part) {
    for (int64_t o = 0; o < out_channels; ++o) {
      for (int64_t c = 0; c < in_channels; ++c) {
        filter[static_cast<size_t>(o * in_channels + c)] =
            weight[(c * out_channels + o) * kParts + part];
      }
    }
    gemm_pack(filter.data(), bias, out_channels, in_channels, false, panels);
    panels += part_floats(in_channels, out_channels);
  }
}

int64_t upsample_blocks(int64_t in_channels, int64_t out_channels) {
  return gemm_panels({nullptr, out_channels, in_channels, false});
}

// A part's weights stay in the cache for all its lines.
void upsample_conv(const UpsampleConvArgs& args) {
  for (int64_t part = 0; part < kParts; ++part) run_part(args, part);
}

}  // namespace vig
