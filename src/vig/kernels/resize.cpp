#include "vig/kernels/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/resize.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// filter_columns counts on whole RGBX pixels per vector, so on 4 to 16 lanes of 32 bits; where
// there are no vectors at all it has a body of its own.
#if HWY_HAVE_SCALABLE
using LanesI32 = hn::FixedTag<int32_t, 4>;
#else
using LanesI32 = hn::CappedTag<int32_t, 16>;
#endif
using LanesU8 = hn::Rebind<uint8_t, LanesI32>;

constexpr int kPrecision = 22;

#if HWY_TARGET != HWY_SCALAR
// Lane sums in groups of four: what remains is one pixel.
template <class D, class V>
HWY_INLINE auto fold_pixels(D d, V v) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    return fold_pixels(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    (void)d;
    return v;
  }
}
#endif

// A fourth byte per pixel lets every vector start at a pixel and makes the lane number the channel.
void rgb_to_rgbx(const uint8_t* HWY_RESTRICT rgb, size_t pixels, uint8_t* HWY_RESTRICT rgbx) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<decltype(d)> r, g, b;
    hn::LoadInterleaved3(d, rgb + 3 * i, r, g, b);
    hn::StoreInterleaved4(r, g, b, hn::Zero(d), d, rgbx + 4 * i);
  }
  for (; i < pixels; ++i) {
    for (size_t c = 0; c < 3; ++c) rgbx[4 * i + c] = rgb[3 * i + c];
    rgbx[4 * i + 3] = 0;
  }
}

// Four rows at a time: the weights, four copies of each, are read once for all of them.
// `count` is a multiple of 4; weights beyond a column's last tap are zero.
void filter_columns(const std::array<const uint8_t*, 4>& rows, const int32_t* HWY_RESTRICT weights,
                    const int32_t* HWY_RESTRICT first, const int32_t* HWY_RESTRICT count,
                    size_t stride, size_t columns, const std::array<uint8_t*, 4>& out) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t k = 0; k < 4; ++k) {
    for (size_t column = 0; column < columns; ++column) {
      const uint8_t* HWY_RESTRICT pixels = rows[k] + static_cast<size_t>(first[column]) * 4;
      for (size_t c = 0; c < 3; ++c) {
        int32_t sum = 1 << (kPrecision - 1);
        for (size_t t = 0; t < static_cast<size_t>(count[column]); ++t) {
          sum += weights[(column * stride + t) * 4] * pixels[t * 4 + c];
        }
        out[k][column * 3 + c] = static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
      }
    }
  }
#else
  const LanesI32 d;
  const LanesU8 d8;
  const hn::FixedTag<int32_t, 4> pixel;
  const hn::Rebind<uint8_t, decltype(pixel)> pixel8;
  const size_t lanes = hn::Lanes(d);
  for (size_t column = 0; column < columns; ++column) {
    const int32_t* HWY_RESTRICT w = weights + column * stride * 4;
    const size_t begin = static_cast<size_t>(first[column]) * 4;
    const size_t end = static_cast<size_t>(count[column]) * 4;
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    for (size_t t = 0; t < end; t += lanes) {
      const auto weight = hn::LoadU(d, w + t);
      const auto tap = [&](const uint8_t* row) HWY_ATTR {
        return hn::Mul(weight, hn::PromoteTo(d, hn::LoadU(d8, row + begin + t)));
      };
      sum0 = hn::Add(sum0, tap(rows[0]));
      sum1 = hn::Add(sum1, tap(rows[1]));
      sum2 = hn::Add(sum2, tap(rows[2]));
      sum3 = hn::Add(sum3, tap(rows[3]));
    }
    const auto write = [&](auto sum, uint8_t* row) HWY_ATTR {
      const auto total = hn::Add(fold_pixels(d, sum), hn::Set(pixel, 1 << (kPrecision - 1)));
      uint8_t rgbx[4];
      hn::StoreU(hn::DemoteTo(pixel8, hn::ShiftRight<kPrecision>(total)), pixel8, rgbx);
      std::memcpy(row + column * 3, rgbx, 3);
    };
    write(sum0, out[0]);
    write(sum1, out[1]);
    write(sum2, out[2]);
    write(sum3, out[3]);
  }
#endif
}

// One output row from `count` rows of `bytes`, which is a multiple of 64.
void filter_rows(const uint8_t* HWY_RESTRICT rows, size_t bytes,
                 const int32_t* HWY_RESTRICT weights, size_t count, uint8_t* HWY_RESTRICT out) {
  const LanesI32 d;
  const LanesU8 d8;
  const size_t lanes = hn::Lanes(d);
  const auto half = hn::Set(d, 1 << (kPrecision - 1));
  for (size_t i = 0; i < bytes; i += 4 * lanes) {
    auto sum0 = half, sum1 = half, sum2 = half, sum3 = half;
    for (size_t t = 0; t < count; ++t) {
      const auto weight = hn::Set(d, weights[t]);
      const uint8_t* HWY_RESTRICT p = rows + t * bytes + i;
      const auto tap = [&](size_t part) HWY_ATTR {
        return hn::Mul(weight, hn::PromoteTo(d, hn::LoadU(d8, p + part * lanes)));
      };
      sum0 = hn::Add(sum0, tap(0));
      sum1 = hn::Add(sum1, tap(1));
      sum2 = hn::Add(sum2, tap(2));
      sum3 = hn::Add(sum3, tap(3));
    }
    const auto write = [&](auto sum, size_t part) HWY_ATTR {
      hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kPrecision>(sum)), d8, out + i + part * lanes);
    };
    write(sum0, 0);
    write(sum1, 1);
    write(sum2, 2);
    write(sum3, 3);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(rgb_to_rgbx);
HWY_EXPORT(filter_columns);
HWY_EXPORT(filter_rows);

namespace {

double filter_weight(Interpolation interpolation, double x) {
  x = std::fabs(x);
  if (interpolation == Interpolation::kBilinear) return x < 1.0 ? 1.0 - x : 0.0;
  // Keys' cubic with a = -1/2, in the order of operations that gives Pillow's bits.
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// The filter of every position of one axis' window.
struct Taps {
  int32_t begin = 0, end = 0;  // the source range the whole window touches
  std::vector<int32_t> first;  // relative to `begin`
  std::vector<int32_t> count;
  size_t stride = 0;             // the largest count, rounded up to 4
  std::vector<int32_t> weights;  // [window, stride], zero after `count`
};

Taps make_taps(const ResizeAxis& axis, Interpolation interpolation) {
  const double scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
  const double stretch = std::max(scale, 1.0);
  const double inverse = 1.0 / stretch;
  const double reach = (interpolation == Interpolation::kBilinear ? 1.0 : 2.0) * stretch;
  const auto centre = [&](int64_t i) {
    return (static_cast<double>(axis.first + i) + 0.5) * scale;
  };

  Taps taps;
  const size_t window = static_cast<size_t>(axis.count);
  taps.first.resize(window);
  taps.count.resize(window);
  int64_t widest = 0;
  for (size_t i = 0; i < window; ++i) {
    const double c = centre(static_cast<int64_t>(i));
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(c - reach + 0.5));
    const int64_t last = std::min<int64_t>(axis.in, static_cast<int64_t>(c + reach + 0.5));
    taps.first[i] = static_cast<int32_t>(first);
    taps.count[i] = static_cast<int32_t>(last - first);
    widest = std::max(widest, last - first);
  }
  taps.begin = taps.first.front();
  taps.end = taps.first.back() + taps.count.back();
  taps.stride = (static_cast<size_t>(widest) + 3) / 4 * 4;
  taps.weights.assign(window * taps.stride, 0);

  std::vector<double> exact(static_cast<size_t>(widest));
  for (size_t i = 0; i < window; ++i) {
    const double c = centre(static_cast<int64_t>(i));
    double sum = 0.0;
    for (int32_t t = 0; t < taps.count[i]; ++t) {
      exact[t] = filter_weight(interpolation, (t + taps.first[i] - c + 0.5) * inverse);
      sum += exact[t];
    }
    int32_t* weights = taps.weights.data() + i * taps.stride;
    for (int32_t t = 0; t < taps.count[i]; ++t) {
      const double weight = exact[t] / sum * (1 << 22);
      weights[t] = static_cast<int32_t>(weight < 0.0 ? weight - 0.5 : weight + 0.5);
    }
    taps.first[i] -= taps.begin;
  }
  return taps;
}

}  // namespace

void resize_rgb(const uint8_t* src, const ResizeAxis& x, const ResizeAxis& y,
                Interpolation interpolation, uint8_t* dst) {
  if (x.count == 0 || y.count == 0) return;
  Taps columns = make_taps(x, interpolation);
  const Taps rows = make_taps(y, interpolation);

  std::vector<int32_t> weights4(columns.weights.size() * 4);
  for (size_t i = 0; i < weights4.size(); ++i) weights4[i] = columns.weights[i / 4];
  for (int32_t& count : columns.count) count = (count + 3) / 4 * 4;

  // `stride` zero pixels at the end, because counts were rounded up.
  const size_t pixels = static_cast<size_t>(columns.end - columns.begin);
  std::array<std::vector<uint8_t>, 4> wide;
  for (auto& row : wide) row.assign((pixels + columns.stride) * 4, 0);

  const size_t bytes = static_cast<size_t>(x.count) * 3;
  const size_t padded = (bytes + 63) / 64 * 64;
  const size_t height = static_cast<size_t>(rows.end - rows.begin);
  std::vector<uint8_t> narrow(height * padded);
  for (size_t row = 0; row < height; row += 4) {
    std::array<const uint8_t*, 4> in;
    std::array<uint8_t*, 4> out;
    for (size_t k = 0; k < 4; ++k) {
      // The last block repeats the last row rather than having a kernel of its own.
      const size_t r = std::min(row + k, height - 1);
      const size_t source = (static_cast<size_t>(rows.begin) + r) * static_cast<size_t>(x.in) +
                            static_cast<size_t>(columns.begin);
      if (row + k == r) HWY_DYNAMIC_DISPATCH(rgb_to_rgbx)(src + source * 3, pixels, wide[k].data());
      in[k] = wide[r - row].data();
      out[k] = narrow.data() + r * padded;
    }
    HWY_DYNAMIC_DISPATCH(filter_columns)
    (in, weights4.data(), columns.first.data(), columns.count.data(), columns.stride,
     columns.first.size(), out);
  }

  std::vector<uint8_t> line(padded);
  for (size_t i = 0; i < rows.first.size(); ++i) {
    HWY_DYNAMIC_DISPATCH(filter_rows)
    (narrow.data() + static_cast<size_t>(rows.first[i]) * padded, padded,
     rows.weights.data() + i * rows.stride, static_cast<size_t>(rows.count[i]), line.data());
    std::memcpy(dst + i * bytes, line.data(), bytes);
  }
}

}  // namespace vig
#endif  // HWY_ONCE
