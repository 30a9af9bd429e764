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

// A position in a batch of grids that moves row by row: divisions once, then counting.
struct Position {
  int64_t image, y, x;

  Position(int64_t row, int64_t height, int64_t width)
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

// What sums begin with.
template <class Load>
HWY_INLINE RowVec first_sum(const float* bias, size_t c, const Load& load) {
  return bias == nullptr ? hn::Zero(RowTag()) : load(bias + c);
}

// Any windows: one position, all channels. The taps that fall outside are left out.
template <class F>
HWY_INLINE void depthwise_position(const DepthwiseConvArgs& args, const float* image, int64_t y,
                                   int64_t x, float* out) {
  const ConvGrid& g = args.grid;
  const int64_t kernel = args.windows.kernel;
  const int64_t top = y * args.windows.stride - args.windows.top;
  const int64_t left = x * args.windows.stride - args.windows.left;
  const int64_t y0 = std::max<int64_t>(0, top), y1 = std::min(g.height, top + kernel);
  const int64_t x0 = std::max<int64_t>(0, left), x1 = std::min(g.width, left + kernel);
  for_each_vector(
      static_cast<size_t>(g.channels), [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
        RowVec sum = first_sum(args.bias, c, load);
        for (int64_t yy = y0; yy < y1; ++yy) {
          const float* in = image + (yy * g.width + x0) * g.channels + static_cast<int64_t>(c);
          const float* tap = args.taps + ((yy - top) * kernel + (x0 - left)) * g.channels +
                             static_cast<int64_t>(c);
          for (int64_t xx = x0; xx < x1; ++xx) {
            sum = hn::MulAdd(load(in), load(tap), sum);
            in += g.channels;
            tap += g.channels;
          }
        }
        store(F::value(sum), out + c);
      });
}

// A function of neighbouring positions, in step.
template <class F, int kSide>
HWY_INLINE void apply_all(RowVec (&v)[kSide]) {
  static_assert(kSide == 1 || kSide == 2 || kSide == 4);
  if constexpr (kSide == 1) {
    v[0] = F::value(v[0]);
  } else if constexpr (kSide == 2) {
    const VectorPair<RowVec> y = F::value(VectorPair<RowVec>{v[0], v[1]});
    v[0] = y.low, v[1] = y.high;
  } else {
    const Four y = F::value(Four{{v[0], v[1]}, {v[2], v[3]}});
    v[0] = y.low.low, v[1] = y.low.high, v[2] = y.high.low, v[3] = y.high.high;
  }
}

// 3x3 windows of stride 1 on a grid padded by 1, at kSide neighbouring positions of a line, which
// share taps and inputs. Every sum is in the same order as above; columns outside count as zero.
template <class F, int kSide>
HWY_INLINE void depthwise_line3(const DepthwiseConvArgs& args, const float* image, int64_t y,
                                int64_t x, float* out) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  const bool left = x == 0, right = x + kSide == g.width;
  const int64_t y0 = std::max<int64_t>(0, y - 1), y1 = std::min(g.height - 1, y + 1);
  const float* first = image + (y0 * g.width + x - 1) * g.channels;
  const float* taps = args.taps + (y0 - y + 1) * 3 * g.channels;
  for_each_vector(static_cast<size_t>(g.channels),
                  [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                    const float* in = first + static_cast<int64_t>(c);
                    const float* tap = taps + c;
                    RowVec sum[kSide];
                    const RowVec first_sums = first_sum(args.bias, c, load);
#pragma GCC unroll 16
                    for (int p = 0; p < kSide; ++p) sum[p] = first_sums;
                    for (int64_t i = y0; i <= y1; ++i) {
                      RowVec column[kSide + 2];
                      column[0] = left ? hn::Zero(d) : load(in);
#pragma GCC unroll 16
                      for (int p = 1; p <= kSide; ++p) column[p] = load(in + p * g.channels);
                      column[kSide + 1] = right ? hn::Zero(d) : load(in + (kSide + 1) * g.channels);
#pragma GCC unroll 16
                      for (int j = 0; j < 3; ++j) {
                        const RowVec weight = load(tap + j * g.channels);
#pragma GCC unroll 16
                        for (int p = 0; p < kSide; ++p)
                          sum[p] = hn::MulAdd(column[p + j], weight, sum[p]);
                      }
                      in += g.width * g.channels;
                      tap += 3 * g.channels;
                    }
                    apply_all<F>(sum);
#pragma GCC unroll 16
                    for (int p = 0; p < kSide; ++p) {
                      store(sum[p], out + static_cast<int64_t>(c) + p * args.out_stride);
                    }
                  });
}

template <class F>
void depthwise_all(const DepthwiseConvArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const bool line3 = w.kernel == 3 && w.stride == 1 && w.top == 1 && w.left == 1 &&
                     w.height == g.height && w.width == g.width;
  Position at(args.first_row, w.height, w.width);
  for (int64_t row = args.first_row; row < args.last_row;) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const int64_t room = std::min(args.last_row - row, w.width - at.x);
    int64_t steps = 1;
    if (!line3) {
      depthwise_position<F>(args, image, at.y, at.x, out);
    } else if (room >= 4) {
      depthwise_line3<F, 4>(args, image, at.y, at.x, out);
      steps = 4;
    } else if (room >= 2) {
      depthwise_line3<F, 2>(args, image, at.y, at.x, out);
      steps = 2;
    } else {
      depthwise_line3<F, 1>(args, image, at.y, at.x, out);
    }
    row += steps;
    at.next(steps, w.height, w.width);
  }
}

void depthwise_rows(const DepthwiseConvArgs& args) {
  with_function(args.function,
                [&](auto function) HWY_ATTR { depthwise_all<decltype(function)>(args); });
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

// One group of the channels of one patch: `channels` of them from `image` on.
HWY_INLINE void gather_patch(const PatchArgs& args, const float* image, int64_t channels, int64_t y,
                             int64_t x, float* out) {
  const ConvGrid& g = args.grid;
  const int64_t kernel = args.windows.kernel;
  for (int64_t ky = y; ky < y + kernel; ++ky) {
    for (int64_t kx = x; kx < x + kernel; ++kx, out += channels) {
      if (ky < 0 || ky >= g.height || kx < 0 || kx >= g.width) {
        std::fill_n(out, channels, 0.0f);
      } else {
        copy_row(image + (ky * g.width + kx) * g.channels, static_cast<size_t>(channels), out);
      }
    }
  }
}

void gather_rows(const PatchArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  Position at(args.first_row, w.height, w.width);
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const int64_t y = at.y * w.stride - w.top;
    const int64_t x = at.x * w.stride - w.left;
    at.next(1, w.height, w.width);
    if (args.groups > 1) {
      const int64_t channels = g.channels / args.groups, patch = w.kernel * w.kernel * channels;
      for (int64_t group = 0; group < args.groups; ++group) {
        gather_patch(args, image + group * channels, channels, y, x, out + group * patch);
      }
      continue;
    }
    // Columns of the patch inside the picture; they lie side by side in memory.
    const int64_t x0 = std::clamp<int64_t>(-x, 0, w.kernel);
    const int64_t x1 = std::clamp<int64_t>(g.width - x, x0, w.kernel);
    const int64_t line = w.kernel * g.channels;
    if (y >= 0 && y + w.kernel <= g.height && x0 == 0 && x1 == w.kernel) {
      const float* from = image + (y * g.width + x) * g.channels;
      for (int64_t ky = 0; ky < w.kernel; ++ky, out += line, from += g.width * g.channels) {
        copy_row(from, static_cast<size_t>(line), out);
      }
      continue;
    }
    for (int64_t ky = 0; ky < w.kernel; ++ky, out += line) {
      if (y + ky < 0 || y + ky >= g.height) {
        std::fill_n(out, line, 0.0f);
        continue;
      }
      std::fill_n(out, x0 * g.channels, 0.0f);
      copy_row(image + ((y + ky) * g.width + x + x0) * g.channels,
               static_cast<size_t>((x1 - x0) * g.channels), out + x0 * g.channels);
      std::fill_n(out + x1 * g.channels, (w.kernel - x1) * g.channels, 0.0f);
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
