#include "vig/kernels/backward/conv.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/conv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// A run of positions on one line of one image.
struct LineRun {
  const float* image;
  int64_t y;
  int64_t begin, end;  // of x
  const float* dy;     // at begin
};

// kTaps neighbouring taps of line ky, from column kx: each sums over the positions of the run whose
// neighbour exists, all interleaved.
template <int kTaps>
void add_line(const DepthwiseWeightArgs& args, const LineRun& run, int64_t ky, int64_t kx) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const int64_t y = run.y * w.stride + ky - w.top;
  const float* line = run.image + (y * g.width + kx - w.left) * g.channels;
  const float* dys = run.dy - run.begin * args.dy_stride;
  float* dtaps = args.dtaps + (ky * w.kernel + kx) * g.channels;
  // Where the neighbours of all the taps exist.
  const int64_t s = w.stride, left = w.left - kx, right = g.width + left - kTaps;
  const int64_t begin = std::clamp((std::max<int64_t>(0, left) + s - 1) / s, run.begin, run.end);
  const int64_t end = right < 0 ? begin : std::clamp(right / s + 1, begin, run.end);
  for_each_vector(static_cast<size_t>(g.channels),
                  [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                    const int64_t c = static_cast<int64_t>(i);
                    RowVec sum[kTaps];
#pragma GCC unroll 16
                    for (int t = 0; t < kTaps; ++t) sum[t] = hn::Zero(RowTag());
                    const auto at_border = [&](int64_t x) HWY_ATTR {
                      const RowVec dy = load(dys + x * args.dy_stride + c);
#pragma GCC unroll 16
                      for (int t = 0; t < kTaps; ++t) {
                        const int64_t column = x * s - left + t;
                        if (column < 0 || column >= g.width) continue;
                        sum[t] = hn::MulAdd(load(line + (x * s + t) * g.channels + c), dy, sum[t]);
                      }
                    };
                    for (int64_t x = run.begin; x < begin; ++x) at_border(x);
                    for (int64_t x = begin; x < end; ++x) {
                      const RowVec dy = load(dys + x * args.dy_stride + c);
                      const float* in = line + x * s * g.channels + c;
#pragma GCC unroll 16
                      for (int t = 0; t < kTaps; ++t) {
                        sum[t] = hn::MulAdd(load(in + t * g.channels), dy, sum[t]);
                      }
                    }
                    for (int64_t x = end; x < run.end; ++x) at_border(x);
#pragma GCC unroll 16
                    for (int t = 0; t < kTaps; ++t) {
                      float* to = dtaps + t * g.channels + c;
                      store(hn::Add(load(to), sum[t]), to);
                    }
                  });
}

// Any windows.
void depthwise_line(const DepthwiseWeightArgs& args, const LineRun& run) {
  const Windows& w = args.windows;
  for (int64_t ky = 0; ky < w.kernel; ++ky) {
    const int64_t y = run.y * w.stride + ky - w.top;
    if (y < 0 || y >= args.grid.height) continue;
    for (int64_t kx = 0; kx < w.kernel;) {
      const int64_t left = w.kernel - kx;
      if (left >= 7) {
        add_line<7>(args, run, ky, kx);
        kx += 7;
      } else if (left >= 5) {
        add_line<5>(args, run, ky, kx);
        kx += 5;
      } else if (left >= 3) {
        add_line<3>(args, run, ky, kx);
        kx += 3;
      } else {
        add_line<1>(args, run, ky, kx);
        kx += 1;
      }
    }
  }
}

// The taps kLeft .. kRight of the lines kTop .. kBottom of a 3x3 kernel, at one position.
template <int kTop, int kBottom, int kLeft, int kRight, class Load>
HWY_INLINE void add_taps3(const float* in, int64_t line, int64_t channels, RowVec dy,
                          const Load& load, RowVec (&sum)[3][3]) {
#pragma GCC unroll 16
  for (int ky = kTop; ky <= kBottom; ++ky) {
#pragma GCC unroll 16
    for (int kx = kLeft; kx <= kRight; ++kx) {
      const float* neighbour = in + (ky - 1) * line + (kx - 1) * channels;
      sum[ky][kx] = hn::MulAdd(load(neighbour), dy, sum[ky][kx]);
    }
  }
}

// 3x3 of stride 1, padded by 1, on a line of two positions or more: the sums stay in registers
// along the run.
template <int kTop, int kBottom>
void depthwise_line3(const DepthwiseWeightArgs& args, const LineRun& run) {
  const ConvGrid& g = args.grid;
  const int64_t line = g.width * g.channels;
  const int64_t begin = std::max<int64_t>(run.begin, 1), end = std::min(run.end, g.width - 1);
  for_each_vector(static_cast<size_t>(g.channels),
                  [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                    const int64_t c = static_cast<int64_t>(i);
                    const float* in = run.image + run.y * line + run.begin * g.channels + c;
                    const float* dy = run.dy + c;
                    RowVec sum[3][3];
#pragma GCC unroll 16
                    for (int k = 0; k < 9; ++k) sum[k / 3][k % 3] = hn::Zero(RowTag());
                    const auto next = [&]() HWY_ATTR {
                      in += g.channels;
                      dy += args.dy_stride;
                    };
                    if (run.begin == 0) {
                      add_taps3<kTop, kBottom, 1, 2>(in, line, g.channels, load(dy), load, sum);
                      next();
                    }
                    for (int64_t x = begin; x < end; ++x, next()) {
                      add_taps3<kTop, kBottom, 0, 2>(in, line, g.channels, load(dy), load, sum);
                    }
                    if (run.end == g.width) {
                      add_taps3<kTop, kBottom, 0, 1>(in, line, g.channels, load(dy), load, sum);
                    }
#pragma GCC unroll 16
                    for (int k = 3 * kTop; k < 3 * (kBottom + 1); ++k) {
                      float* to = args.dtaps + k * g.channels + c;
                      store(hn::Add(load(to), sum[k / 3][k % 3]), to);
                    }
                  });
}

void depthwise_weight_rows(const DepthwiseWeightArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const bool line3 = w.kernel == 3 && w.stride == 1 && w.top == 1 && w.left == 1 &&
                     w.height == g.height && w.width == g.width && g.width >= 2;
  for (int64_t row = args.first_row; row < args.last_row;) {
    LineRun run;
    run.image = args.in + row / (w.height * w.width) * g.height * g.width * g.channels;
    run.y = row / w.width % w.height;
    run.begin = row % w.width;
    run.end = std::min(w.width, run.begin + args.last_row - row);
    run.dy = args.dy + (row - args.first_row) * args.dy_stride;
    row += run.end - run.begin;
    const bool above = run.y > 0, below = run.y + 1 < g.height;
    if (!line3) {
      depthwise_line(args, run);
    } else if (above) {
      below ? depthwise_line3<0, 2>(args, run) : depthwise_line3<0, 1>(args, run);
    } else {
      below ? depthwise_line3<1, 2>(args, run) : depthwise_line3<1, 1>(args, run);
    }
  }
}

// A position of the input in the padded grid, and the windows that hold it.
struct Reached {
  int64_t first_window;  // of its image
  int64_t y, x;

  Reached(const Windows& w, const ConvGrid& g, int64_t row)
      : first_window(row / (g.height * g.width) * w.height * w.width),
        y(row / g.width % g.height + w.top),
        x(row % g.width + w.left) {}

  // Calls f(tap, window) in a fixed order. A window at line oy begins at line oy * stride, so the
  // taps that see line y are y % stride and every stride-th after it.
  template <class F>
  HWY_INLINE void each(const Windows& w, const F& f) const {
    for (int64_t ky = y % w.stride, oy = y / w.stride; ky < w.kernel && oy >= 0;
         ky += w.stride, --oy) {
      if (oy >= w.height) continue;
      for (int64_t kx = x % w.stride, ox = x / w.stride; kx < w.kernel && ox >= 0;
           kx += w.stride, --ox) {
        if (ox < w.width) f(ky * w.kernel + kx, first_window + oy * w.width + ox);
      }
    }
  }
};

void depthwise_input_rows(const DepthwiseInputArgs& args) {
  const int64_t channels = args.grid.channels;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const Reached at(args.windows, args.grid, row);
    float* dx = args.dx + (row - args.first_row) * args.dx_stride;
    for_each_vector(
        static_cast<size_t>(channels), [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
          RowVec sum = hn::Zero(RowTag());
          at.each(args.windows, [&](int64_t tap, int64_t window) HWY_ATTR {
            sum = hn::MulAdd(load(args.dy + window * channels + static_cast<int64_t>(i)),
                             load(args.taps + tap * channels + static_cast<int64_t>(i)), sum);
          });
          store(sum, dx + i);
        });
  }
}

void scatter_rows(const ScatterArgs& args) {
  const int64_t channels = args.grid.channels;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const Reached at(args.windows, args.grid, row);
    float* out = args.out + (row - args.first_row) * args.out_stride;
    for_each_vector(
        static_cast<size_t>(channels), [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
          const float* patches = args.patches + i;
          RowVec sum = hn::Zero(RowTag());
          at.each(args.windows, [&](int64_t tap, int64_t window) HWY_ATTR {
            sum = hn::Add(sum, load(patches + window * args.patch_stride + tap * channels));
          });
          store(sum, out + i);
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(depthwise_weight_rows);
HWY_EXPORT(depthwise_input_rows);
HWY_EXPORT(scatter_rows);

void depthwise_taps_flipped(const float* weight, int64_t channels, int64_t kernel, float* taps) {
  const int64_t area = kernel * kernel;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < area; ++i) taps[i * channels + c] = weight[(c + 1) * area - 1 - i];
  }
}

Windows flipped_windows(const Windows& windows, const ConvGrid& grid) {
  const int64_t last = windows.kernel - 1;
  return {windows.kernel, 1, last - windows.top, last - windows.left, grid.height, grid.width};
}

void depthwise_input_backward(const DepthwiseInputArgs& args) {
  HWY_DYNAMIC_DISPATCH(depthwise_input_rows)(args);
}

void depthwise_weight_backward(const DepthwiseWeightArgs& args) {
  HWY_DYNAMIC_DISPATCH(depthwise_weight_rows)(args);
}

void scatter_patches(const ScatterArgs& args) { HWY_DYNAMIC_DISPATCH(scatter_rows)(args); }

void patch_weight_inverse(const float* from, int64_t out, int64_t in, int64_t kernel, float* to) {
  const int64_t area = kernel * kernel;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t i = 0; i < area; ++i) {
        to[(o * in + c) * area + i] = from[(o * area + i) * in + c];
      }
    }
  }
}

}  // namespace vig
#endif  // HWY_ONCE
