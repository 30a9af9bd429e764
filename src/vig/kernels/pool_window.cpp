#include "vig/kernels/pool_window.h"

#include <algorithm>

#include "vig/kernels/grid_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/pool_window.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// The part of an output's window that is inside the map: lines [y0, y1), columns [x0, x1).
struct Inside {
  int64_t y0, y1, x0, x1;

  Inside(const PoolWindow& w, int64_t y, int64_t x)
      : y0(std::max<int64_t>(0, y * w.stride - w.padding)),
        y1(std::min(w.in.height, y * w.stride - w.padding + w.kernel)),
        x0(std::max<int64_t>(0, x * w.stride - w.padding)),
        x1(std::min(w.in.width, x * w.stride - w.padding + w.kernel)) {}

  float count(const PoolWindow& w) const {
    return static_cast<float>(w.kind == PoolKind::kMean ? w.kernel * w.kernel
                                                        : (y1 - y0) * (x1 - x0));
  }
};

// Whether v takes the place of the largest so far.
HWY_INLINE auto wins(RowVec v, RowVec largest) { return hn::Or(hn::Gt(v, largest), hn::IsNaN(v)); }

void pool_rows(const PoolArgs& args) {
  const RowTag d;
  const PoolWindow& w = args.window;
  const ConvGrid& g = w.in;
  GridRow at(args.first_row, w.out_height(), w.out_width());
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    float* out = args.out + (row - args.first_row) * args.out_stride;
    const Inside in(w, at.y, at.x);
    at.next(1, w.out_height(), w.out_width());
    const RowVec count = hn::Set(d, in.count(w));
    for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                         const auto& store) HWY_ATTR {
      const bool max = w.kind == PoolKind::kMax;
      RowVec sum = max ? load(image + (in.y0 * g.width + in.x0) * g.channels + c) : hn::Zero(d);
      for (int64_t y = in.y0; y < in.y1; ++y) {
        const float* pixel = image + (y * g.width + in.x0) * g.channels + c;
        for (int64_t x = in.x0; x < in.x1; ++x, pixel += g.channels) {
          const RowVec v = load(pixel);
          sum = max ? hn::IfThenElse(wins(v, sum), v, sum) : hn::Add(sum, v);
        }
      }
      store(max ? sum : hn::Div(sum, count), out + c);
    });
  }
}

// dy where the position (y, x) is the first to reach the maximum of the window, else zero.
template <class Load>
HWY_INLINE RowVec share_of_max(const ConvGrid& g, const Inside& in, const float* channels,
                               int64_t y, int64_t x, RowVec dy, const Load& load) {
  RowVec largest = load(channels + (in.y0 * g.width + in.x0) * g.channels);
  RowVec mine = in.y0 == y && in.x0 == x ? dy : hn::Zero(RowTag());
  for (int64_t yy = in.y0; yy < in.y1; ++yy) {
    for (int64_t xx = in.x0; xx < in.x1; ++xx) {
      const RowVec v = load(channels + (yy * g.width + xx) * g.channels);
      const auto take = wins(v, largest);
      largest = hn::IfThenElse(take, v, largest);
      mine = hn::IfThenElse(take, yy == y && xx == x ? dy : hn::Zero(RowTag()), mine);
    }
  }
  return mine;
}

void pool_rows_backward(const PoolBackwardArgs& args) {
  const RowTag d;
  const PoolWindow& w = args.window;
  const ConvGrid& g = w.in;
  GridRow at(args.first_row, g.height, g.width);
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const float* image = args.in + at.image * g.height * g.width * g.channels;
    const float* dy = args.dy + at.image * w.out_height() * w.out_width() * g.channels;
    float* dx = args.dx + (row - args.first_row) * args.dx_stride;
    // Windows [oy0, oy1) x [ox0, ox1) contain the position.
    const auto first = [&](int64_t i) {
      return std::max<int64_t>(0, (i + w.padding - w.kernel + w.stride) / w.stride);
    };
    const auto end = [&](int64_t i, int64_t size) {
      return std::min(size, (i + w.padding) / w.stride + 1);
    };
    const int64_t oy0 = first(at.y), oy1 = end(at.y, w.out_height());
    const int64_t ox0 = first(at.x), ox1 = end(at.x, w.out_width());
    for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                         const auto& store) HWY_ATTR {
      RowVec sum = hn::Zero(d);
      for (int64_t oy = oy0; oy < oy1; ++oy) {
        for (int64_t ox = ox0; ox < ox1; ++ox) {
          const Inside in(w, oy, ox);
          const RowVec from = load(dy + (oy * w.out_width() + ox) * g.channels + c);
          sum = hn::Add(sum, w.kind == PoolKind::kMax
                                 ? share_of_max(g, in, image + c, at.y, at.x, from, load)
                                 : hn::Div(from, hn::Set(d, in.count(w))));
        }
      }
      store(sum, dx + c);
    });
    at.next(1, g.height, g.width);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(pool_rows);
HWY_EXPORT(pool_rows_backward);

void pool_windows(const PoolArgs& args) { HWY_DYNAMIC_DISPATCH(pool_rows)(args); }

void pool_windows_backward(const PoolBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(pool_rows_backward)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
