#include "vig/kernels/conv_backward.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/conv_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// A run of positions on one line of one picture.
struct LineRun {
  const float* image;
  int64_t y;
  int64_t begin, end;  // of x
  const float* dy;     // at begin
};

// Any kernel: each tap sums over the positions whose neighbour exists.
void depthwise_line(const DepthwiseWeightArgs& args, const LineRun& run) {
  const ConvGrid& g = args.grid;
  const int64_t half = args.kernel / 2;
  for (int64_t ky = 0; ky < args.kernel; ++ky) {
    const int64_t y = run.y + ky - half;
    if (y < 0 || y >= g.height) continue;
    for (int64_t kx = 0; kx < args.kernel; ++kx) {
      const int64_t begin = std::max(run.begin, half - kx);
      const int64_t end = std::min(run.end, g.width + half - kx);
      const float* in = run.image + (y * g.width + kx - half) * g.channels;
      const float* dy = run.dy - run.begin * args.dy_stride;
      float* to = args.dtaps + (ky * args.kernel + kx) * g.channels;
      for_each_vector(static_cast<size_t>(g.channels), [&](size_t i, const auto& load,
                                                           const auto& store) HWY_ATTR {
        const int64_t c = static_cast<int64_t>(i);
        RowVec sum = hn::Zero(RowTag());
        for (int64_t x = begin; x < end; ++x) {
          sum = hn::MulAdd(load(in + x * g.channels + c), load(dy + x * args.dy_stride + c), sum);
        }
        store(hn::Add(load(to + c), sum), to + c);
      });
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

// 3x3 on a line of two positions or more: the sums stay in registers along the run.
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
  for (int64_t row = args.first_row; row < args.last_row;) {
    LineRun run;
    run.image = args.in + row / (g.height * g.width) * g.height * g.width * g.channels;
    run.y = row / g.width % g.height;
    run.begin = row % g.width;
    run.end = std::min(g.width, run.begin + args.last_row - row);
    run.dy = args.dy + (row - args.first_row) * args.dy_stride;
    row += run.end - run.begin;
    const bool above = run.y > 0, below = run.y + 1 < g.height;
    if (args.kernel != 3 || g.width < 2) {
      depthwise_line(args, run);
    } else if (above) {
      below ? depthwise_line3<0, 2>(args, run) : depthwise_line3<0, 1>(args, run);
    } else {
      below ? depthwise_line3<1, 2>(args, run) : depthwise_line3<1, 1>(args, run);
    }
  }
}

void scatter_rows(const ScatterArgs& args) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const int64_t image = row / (g.height * g.width);
    // From the corner of the padded grid. A patch at output oy begins at line oy * stride, so the
    // taps that see line y are y % stride and every stride-th after it.
    const int64_t y = row / g.width % g.height + args.padding;
    const int64_t x = row % g.width + args.padding;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    for_each_vector(static_cast<size_t>(g.channels), [&](size_t i, const auto& load,
                                                         const auto& store) HWY_ATTR {
      RowVec sum = hn::Zero(d);
      for (int64_t ky = y % args.stride, oy = y / args.stride; ky < args.kernel && oy >= 0;
           ky += args.stride, --oy) {
        if (oy >= args.out_height) continue;
        const float* line = args.patches +
                            (image * args.out_height + oy) * args.out_width * args.patch_stride +
                            ky * args.kernel * g.channels + static_cast<int64_t>(i);
        for (int64_t kx = x % args.stride, ox = x / args.stride; kx < args.kernel && ox >= 0;
             kx += args.stride, --ox) {
          if (ox >= args.out_width) continue;
          sum = hn::Add(sum, load(line + ox * args.patch_stride + kx * g.channels));
        }
      }
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
HWY_EXPORT(scatter_rows);

void depthwise_taps_flipped(const float* weight, int64_t channels, int64_t kernel, float* taps) {
  const int64_t area = kernel * kernel;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < area; ++i) taps[i * channels + c] = weight[(c + 1) * area - 1 - i];
  }
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
