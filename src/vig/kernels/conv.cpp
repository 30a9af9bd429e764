#include "vig/kernels/conv.h"

#include <algorithm>

#include "vig/kernels/grid_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/conv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void gather_rows(const PatchArgs& args) {
  const ConvGrid& g = args.grid;
  GridRow at(args.first_row, args.out_height, args.out_width);
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const int64_t y = at.y * args.stride - args.padding;
    const int64_t x = at.x * args.stride - args.padding;
    at.next(1, args.out_height, args.out_width);
    // Columns of the patch inside the picture; they lie side by side in memory.
    const int64_t x0 = std::clamp<int64_t>(-x, 0, args.kernel);
    const int64_t x1 = std::clamp<int64_t>(g.width - x, x0, args.kernel);
    const int64_t line = args.kernel * g.channels;
    if (y >= 0 && y + args.kernel <= g.height && x0 == 0 && x1 == args.kernel) {
      const float* from = image + (y * g.width + x) * g.channels;
      for (int64_t ky = 0; ky < args.kernel; ++ky, out += line, from += g.width * g.channels) {
        copy_row(from, static_cast<size_t>(line), out);
      }
      continue;
    }
    for (int64_t ky = 0; ky < args.kernel; ++ky, out += line) {
      if (y + ky < 0 || y + ky >= g.height) {
        std::fill_n(out, line, 0.0f);
        continue;
      }
      std::fill_n(out, x0 * g.channels, 0.0f);
      copy_row(image + ((y + ky) * g.width + x + x0) * g.channels,
               static_cast<size_t>((x1 - x0) * g.channels), out + x0 * g.channels);
      std::fill_n(out + x1 * g.channels, (args.kernel - x1) * g.channels, 0.0f);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(gather_rows);

void gather_patches(const PatchArgs& args) { HWY_DYNAMIC_DISPATCH(gather_rows)(args); }

void patch_weight(const float* weight, int64_t out, int64_t in, int64_t kernel, float* to) {
  const int64_t area = kernel * kernel;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t i = 0; i < area; ++i) {
        to[(o * area + i) * in + c] = weight[(o * in + c) * area + i];
      }
    }
  }
}

}  // namespace vig
#endif  // HWY_ONCE
