#include "vig/kernels/conv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/conv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// The positions of a batch of grids, row by row: divisions once, then counting.
struct Walk {
  int64_t image, y, x;

  Walk(int64_t row, int64_t height, int64_t width)
      : image(row / (height * width)), y(row / width % height), x(row % width) {}
  void next(int64_t steps, int64_t height, int64_t width) {
    x += steps;
    if (x < width) return;
    x = 0;
    if (++y < height) return;
    y = 0;
    ++image;
  }
};

// One position, all channels. The taps that fall outside are left out.
template <bool kSilu>
HWY_INLINE void depthwise_position(const DepthwiseConvArgs& args, const float* image, int64_t y,
                                   int64_t x, float* out) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  const int64_t half = args.kernel / 2;
  const int64_t y0 = std::max<int64_t>(0, y - half), y1 = std::min(g.height - 1, y + half);
  const int64_t x0 = std::max<int64_t>(0, x - half), x1 = std::min(g.width - 1, x + half);
  for_each_vector(
      static_cast<size_t>(g.channels), [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
        RowVec sum = hn::Zero(d);
        for (int64_t yy = y0; yy <= y1; ++yy) {
          const float* in = image + (yy * g.width + x0) * g.channels + static_cast<int64_t>(c);
          const float* tap = args.taps +
                             ((yy - y + half) * args.kernel + (x0 - x + half)) * g.channels +
                             static_cast<int64_t>(c);
          for (int64_t xx = x0; xx <= x1; ++xx) {
            sum = hn::MulAdd(load(in), load(tap), sum);
            in += g.channels;
            tap += g.channels;
          }
        }
        if constexpr (kSilu) sum = silu(d, sum);
        store(sum, out + c);
      });
}

// 3x3 at kSide neighbouring positions of a line, away from the border: they share taps and inputs.
// Every sum is in the same order as above.
template <bool kSilu, int kSide>
HWY_INLINE void depthwise_inner3(const DepthwiseConvArgs& args, const float* at, float* out) {
  const RowTag d;
  const int64_t channels = args.grid.channels;
  const int64_t line = args.grid.width * channels;
  for_each_vector(static_cast<size_t>(channels),
                  [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                    const float* in = at + static_cast<int64_t>(c) - line - channels;
                    const float* tap = args.taps + c;
                    RowVec sum[kSide];
#pragma GCC unroll 16
                    for (int p = 0; p < kSide; ++p) sum[p] = hn::Zero(d);
                    for (int64_t i = 0; i < 3; ++i) {
                      RowVec x[kSide + 2];
#pragma GCC unroll 16
                      for (int p = 0; p < kSide + 2; ++p) x[p] = load(in + p * channels);
#pragma GCC unroll 16
                      for (int j = 0; j < 3; ++j) {
                        const RowVec weight = load(tap + j * channels);
#pragma GCC unroll 16
                        for (int p = 0; p < kSide; ++p)
                          sum[p] = hn::MulAdd(x[p + j], weight, sum[p]);
                      }
                      in += line;
                      tap += 3 * channels;
                    }
#pragma GCC unroll 16
                    for (int p = 0; p < kSide; ++p) {
                      if constexpr (kSilu) sum[p] = silu(d, sum[p]);
                      store(sum[p], out + static_cast<int64_t>(c) + p * args.out_stride);
                    }
                  });
}

template <bool kSilu>
void depthwise_all(const DepthwiseConvArgs& args) {
  const ConvGrid& g = args.grid;
  constexpr int kSide = 4;
  Walk at(args.first_row, g.height, g.width);
  for (int64_t row = args.first_row; row < args.last_row;) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    const float* here = image + (at.y * g.width + at.x) * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const bool inner = args.kernel == 3 && at.y > 0 && at.x > 0 && at.y + 1 < g.height;
    int64_t steps = 1;
    if (inner && at.x + kSide < g.width && row + kSide <= args.last_row) {
      depthwise_inner3<kSilu, kSide>(args, here, out);
      steps = kSide;
    } else if (inner && at.x + 1 < g.width) {
      depthwise_inner3<kSilu, 1>(args, here, out);
    } else {
      depthwise_position<kSilu>(args, image, at.y, at.x, out);
    }
    row += steps;
    at.next(steps, g.height, g.width);
  }
}

void depthwise_rows(const DepthwiseConvArgs& args) {
  args.silu ? depthwise_all<true>(args) : depthwise_all<false>(args);
}

// A stem's lines are too short for a call of memcpy. The last vector overlaps the one before it.
HWY_INLINE void copy_row(const float* from, size_t n, float* to) {
  const RowTag d;
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  for (size_t i = 0; i + lanes < n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  hn::StoreU(hn::LoadU(d, from + n - lanes), d, to + n - lanes);
}

void gather_rows(const PatchArgs& args) {
  const ConvGrid& g = args.grid;
  Walk at(args.first_row, args.out_height, args.out_width);
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

HWY_EXPORT(depthwise_rows);
HWY_EXPORT(gather_rows);

void depthwise_taps(const float* weight, int64_t channels, int64_t kernel, float* taps) {
  const int64_t area = kernel * kernel;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < area; ++i) taps[i * channels + c] = weight[c * area + i];
  }
}

void depthwise_conv(const DepthwiseConvArgs& args) { HWY_DYNAMIC_DISPATCH(depthwise_rows)(args); }

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
