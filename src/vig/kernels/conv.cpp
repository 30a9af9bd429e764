#include "vig/kernels/conv.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "vig/kernels/grid_row.h"

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

// A function of neighbouring positions, interleaved.
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
// share taps and inputs. Columns outside count as zero.
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
#pragma GCC unroll 16
                    for (int p = 0; p < kSide; ++p) {
                      sum[p] = args.bias == nullptr ? hn::Zero(d) : load(args.bias + c);
                    }
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

constexpr size_t kBlockFloats = 1 << 14;
constexpr size_t kMostTaps = 31 * 31;
constexpr int kMostSide = 8;

// Lines [top, bottom) and columns [left, right) of the output of one image.
struct Block {
  int64_t top, bottom, left, right;
};

// One vector of channels of what a block sees, zero where it is outside the map, and of the taps.
struct Copies {
  int64_t columns;  // of a line of pixels
  HWY_ALIGN float pixels[kBlockFloats];
  HWY_ALIGN float taps[kMostTaps * kRowLanes];
};

// Any kernel at kSide neighbouring positions of a line, whose sums take turns.
template <int kSide, int kStride>
void add_taps(const float* HWY_RESTRICT pixels, const Copies& from, const DepthwiseConvArgs& args,
              RowVec start, size_t lanes, float* out) {
  const RowTag d;
  const int64_t stride =
      (kStride == 0 ? args.windows.stride : kStride) * static_cast<int64_t>(kRowLanes);
  RowVec sum[kSide];
#pragma GCC unroll 16
  for (int p = 0; p < kSide; ++p) sum[p] = start;
  const float* HWY_RESTRICT tap = from.taps;
  for (int64_t ky = 0; ky < args.windows.kernel; ++ky) {
    const float* HWY_RESTRICT pixel = pixels + ky * from.columns * static_cast<int64_t>(kRowLanes);
    for (int64_t kx = 0; kx < args.windows.kernel; ++kx) {
      const RowVec weight = hn::Load(d, tap);
#pragma GCC unroll 16
      for (int p = 0; p < kSide; ++p) {
        sum[p] = hn::MulAdd(hn::Load(d, pixel + p * stride), weight, sum[p]);
      }
      pixel += kRowLanes;
      tap += kRowLanes;
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kSide; ++p) {
    if (lanes == kRowLanes) {
      hn::StoreU(sum[p], d, out + p * args.out_stride);
    } else {
      store_part(sum[p], out + p * args.out_stride, lanes);
    }
  }
}

using AddTaps = void (*)(const float*, const Copies&, const DepthwiseConvArgs&, RowVec, size_t,
                         float*);
template <int kStride, int... kSides>
constexpr auto add_taps_table(std::integer_sequence<int, kSides...>) {
  return std::array<AddTaps, sizeof...(kSides)>{add_taps<kSides + 1, kStride>...};
}
// By positions - 1, for stride 1, 2 and any other.
constexpr auto kAddTaps1 = add_taps_table<1>(std::make_integer_sequence<int, kMostSide>());
constexpr auto kAddTaps2 = add_taps_table<2>(std::make_integer_sequence<int, kMostSide>());
constexpr auto kAddTaps = add_taps_table<0>(std::make_integer_sequence<int, kMostSide>());

// `out` is the block's first position. Copying a vector of channels puts its pixels side by side,
// and every line is used by as many lines of the output as there are in the block.
void depthwise_block(const DepthwiseConvArgs& args, const float* image, const Block& block,
                     float* out) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const int64_t width = block.right - block.left, out_line = w.width * args.out_stride;
  const int64_t y0 = block.top * w.stride - w.top;
  const int64_t x0 = block.left * w.stride - w.left;
  const int64_t lines = (block.bottom - block.top - 1) * w.stride + w.kernel;
  const auto& table = w.stride == 1 ? kAddTaps1 : w.stride == 2 ? kAddTaps2 : kAddTaps;
  Copies copies;
  copies.columns = (width - 1) * w.stride + w.kernel;
  for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                       const auto&) HWY_ATTR {
    const size_t lanes = std::min(kRowLanes, static_cast<size_t>(g.channels) - c);
    const float* tap = args.taps + c;
    for (int64_t i = 0; i < w.kernel * w.kernel; ++i, tap += g.channels) {
      hn::Store(load(tap), d, copies.taps + i * static_cast<int64_t>(kRowLanes));
    }
    float* to = copies.pixels;
    for (int64_t y = y0; y < y0 + lines; ++y) {
      for (int64_t x = x0; x < x0 + copies.columns; ++x, to += kRowLanes) {
        const bool exists = y >= 0 && y < g.height && x >= 0 && x < g.width;
        hn::Store(exists ? load(image + (y * g.width + x) * g.channels + c) : hn::Zero(d), d, to);
      }
    }
    const RowVec start = args.bias == nullptr ? hn::Zero(d) : load(args.bias + c);
    const int64_t strips = (width + kMostSide - 1) / kMostSide;
    for (int64_t y = 0; y < block.bottom - block.top; ++y) {
      for (int64_t s = 0, x = 0; s < strips; ++s) {
        const int64_t side = (width - x) / (strips - s);  // as even as they get
        const int64_t pixel = (y * copies.columns + x) * w.stride;
        table[static_cast<size_t>(side - 1)](
            copies.pixels + pixel * static_cast<int64_t>(kRowLanes), copies, args, start, lanes,
            out + static_cast<int64_t>(c) + y * out_line + x * args.out_stride);
        x += side;
      }
    }
  });
}

// A function of the block's sums, in place.
template <class F>
void apply_block(const DepthwiseConvArgs& args, const Block& block, float* out) {
  for (int64_t y = block.top; y < block.bottom; ++y) {
    float* row = out + (y - block.top) * args.windows.width * args.out_stride;
    for (int64_t x = block.left; x < block.right; ++x, row += args.out_stride) {
      for_each_interleaved(static_cast<size_t>(args.grid.channels),
                           [&](size_t i, const auto& load, const auto& store)
                               HWY_ATTR { store(F::value(load(row + i)), row + i); });
    }
  }
}

// Any kernel and stride, in blocks of whole lines where the rows and the room for copies allow.
template <class F>
void depthwise_blocks(const DepthwiseConvArgs& args) {
  const Windows& w = args.windows;
  const int64_t room = static_cast<int64_t>(kBlockFloats / kRowLanes);
  // Columns such that the lines of one output line fit, then lines.
  const int64_t most_columns = std::max<int64_t>(1, (room / w.kernel - w.kernel) / w.stride + 1);
  GridRow at(args.first_row, w.height, w.width);
  for (int64_t row = args.first_row; row < args.last_row;) {
    const int64_t left = args.last_row - row;
    const int64_t columns = std::min({left, w.width - at.x, most_columns});
    int64_t lines = 1;
    if (columns == w.width) {
      const int64_t line = (w.width - 1) * w.stride + w.kernel;
      const int64_t fit = (room / line - w.kernel) / w.stride + 1;
      lines = std::max<int64_t>(1, std::min({left / w.width, w.height - at.y, fit}));
    }
    const float* image =
        args.in + at.image * args.grid.height * args.grid.width * args.grid.channels;
    const Block block = {at.y, at.y + lines, at.x, at.x + columns};
    float* out = args.out + (row - args.first_row) * args.out_stride;
    depthwise_block(args, image, block, out);
    if constexpr (!std::is_same_v<F, Identity>) apply_block<F>(args, block, out);
    row += lines * columns;
    for (int64_t i = 0; i < lines; ++i) at.next(columns, w.height, w.width);
  }
}

// 3x3 with stride 1 and padding 1.
template <class F>
void depthwise_lines3(const DepthwiseConvArgs& args) {
  const ConvGrid& g = args.grid;
  GridRow at(args.first_row, g.height, g.width);
  for (int64_t row = args.first_row; row < args.last_row;) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const int64_t room = std::min(args.last_row - row, g.width - at.x);
    int64_t columns = 1;
    if (room >= 4) {
      depthwise_line3<F, 4>(args, image, at.y, at.x, out);
      columns = 4;
    } else if (room >= 2) {
      depthwise_line3<F, 2>(args, image, at.y, at.x, out);
      columns = 2;
    } else {
      depthwise_line3<F, 1>(args, image, at.y, at.x, out);
    }
    row += columns;
    at.next(columns, g.height, g.width);
  }
}

void depthwise_rows(const DepthwiseConvArgs& args) {
  const ConvGrid& g = args.grid;
  const Windows& w = args.windows;
  const bool lines3 = w.kernel == 3 && w.stride == 1 && w.top == 1 && w.left == 1 &&
                      w.height == g.height && w.width == g.width;
  with_function(args.function, [&](auto function) HWY_ATTR {
    using F = decltype(function);
    lines3 ? depthwise_lines3<F>(args) : depthwise_blocks<F>(args);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(depthwise_rows);

void depthwise_taps(const float* weight, int64_t channels, int64_t kernel, float* taps) {
  const int64_t area = kernel * kernel;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < area; ++i) taps[i * channels + c] = weight[c * area + i];
  }
}

void depthwise_conv(const DepthwiseConvArgs& args) { HWY_DYNAMIC_DISPATCH(depthwise_rows)(args); }

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
