#include "vig/kernels/map_resize.h"

#include <algorithm>
#include <cmath>

#include "vig/kernels/grid_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/map_resize.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Gives each vector of a row's result to store, after adding the residual's.
template <class F>
HWY_INLINE void each_sum(size_t channels, const float* residual, float* out, const F& value) {
  if (residual == nullptr) {
    for_each_vector(channels, [&](size_t c, const auto& load, const auto& store)
                                  HWY_ATTR { store(value(c, load), out + c); });
  } else {
    for_each_vector(channels, [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
      store(hn::Add(load(residual + c), value(c, load)), out + c);
    });
  }
}

void resize_rows(const MapResizeArgs& args) {
  const RowTag d;
  const MapGrids& g = *args.grids;
  const size_t channels = static_cast<size_t>(args.channels);
  GridRow at(args.first_row, g.out_height(), g.out_width());
  const float* residual = args.residual;
  float* out = args.out;
  for (int64_t row = args.first_row; row < args.last_row; ++row) {
    const MapTap& y = g.lines[static_cast<size_t>(at.y)];
    const MapTap& x = g.columns[static_cast<size_t>(at.x)];
    const float* image = args.in + at.image * g.height * g.width * args.in_stride;
    const float* top = image + y.first * g.width * args.in_stride;
    const float* bottom = image + y.second * g.width * args.in_stride;
    const float* a = top + x.first * args.in_stride;
    const float* b = top + x.second * args.in_stride;
    const float* p = bottom + x.first * args.in_stride;
    const float* q = bottom + x.second * args.in_stride;
    if (y.first == y.second && x.first == x.second) {
      each_sum(channels, residual, out,
               [&](size_t c, const auto& load) HWY_ATTR { return load(a + c); });
    } else {
      const RowVec right = hn::Set(d, x.weight), left = hn::Set(d, 1.0f - x.weight);
      const RowVec below = hn::Set(d, y.weight), above = hn::Set(d, 1.0f - y.weight);
      each_sum(channels, residual, out, [&](size_t c, const auto& load) HWY_ATTR {
        const RowVec upper = hn::MulAdd(right, load(b + c), hn::Mul(left, load(a + c)));
        const RowVec lower = hn::MulAdd(right, load(q + c), hn::Mul(left, load(p + c)));
        return hn::MulAdd(below, lower, hn::Mul(above, upper));
      });
    }
    at.next(1, g.out_height(), g.out_width());
    out += args.out_stride;
    if (residual != nullptr) residual += args.residual_stride;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(resize_rows);

std::vector<MapTap> bilinear_taps(int64_t in, int64_t out) {
  std::vector<MapTap> taps(static_cast<size_t>(out));
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  const int32_t last = static_cast<int32_t>(in) - 1;
  for (size_t i = 0; i < taps.size(); ++i) {
    const float position = std::max(0.0f, (static_cast<float>(i) + 0.5f) * scale - 0.5f);
    MapTap& tap = taps[i];
    tap.first = std::min(static_cast<int32_t>(position), last);
    const float weight = std::min(1.0f, position - static_cast<float>(tap.first));
    const bool between = tap.first < last && weight > 0.0f;
    tap.second = tap.first + (between ? 1 : 0);
    tap.weight = between ? weight : 0.0f;
  }
  return taps;
}

std::vector<MapTap> nearest_taps(int64_t in, int64_t out) {
  std::vector<MapTap> taps(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const int32_t line = static_cast<int32_t>(i * in / out);
    taps[static_cast<size_t>(i)] = {line, line, 0.0f};
  }
  return taps;
}

void map_resize(const MapResizeArgs& args) { HWY_DYNAMIC_DISPATCH(resize_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
