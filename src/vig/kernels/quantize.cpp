#include "vig/kernels/quantize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "vig/kernels/grid_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/quantize.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int32_t kInfinity = 0x7f800000;
constexpr float kLeast = 0x1p-100f;
// Added to a number of a small magnitude, this rounds it to a whole one, which then stands in the
// low byte of the sum.
constexpr float kRound = 12582912.0f;

// The largest magnitude as bits of a float: infinities and NaN are above all numbers.
HWY_INLINE int32_t largest(const float* x, size_t n, int32_t sofar) {
  const RowTag d;
  const hn::RebindToSigned<RowTag> di;
  const size_t lanes = hn::Lanes(d);
  if (n < lanes) {
    for (size_t i = 0; i < n; ++i) {
      sofar = std::max(sofar, std::bit_cast<int32_t>(x[i]) & kMagnitude);
    }
    return sofar;
  }
  const auto mask = hn::Set(di, kMagnitude);
  const auto at = [&](size_t i)
                      HWY_ATTR { return hn::And(mask, hn::BitCast(di, hn::LoadU(d, x + i))); };
  auto a = hn::Set(di, sofar), b = at(n - lanes);  // the last vector overlaps others
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Max(a, at(i));
    b = hn::Max(b, at(i + lanes));
  }
  if (i + lanes <= n) a = hn::Max(a, at(i));
  return hn::GetLane(hn::MaxOfLanes(di, hn::Max(a, b)));
}

// to = x * inverse + zero, whole numbers.
template <int kZero>
HWY_INLINE void write_codes(const float* x, size_t n, float inverse, uint8_t* to) {
  constexpr float kAdd = kRound + kZero;
#if HWY_TARGET != HWY_SCALAR
  const RowTag d;
  const hn::RebindToUnsigned<RowTag> du;
  const hn::Rebind<uint8_t, RowTag> bytes;
  const size_t lanes = hn::Lanes(d);
  if (n >= lanes) {
    const RowVec times = hn::Set(d, inverse), round = hn::Set(d, kAdd);
    const auto write = [&](size_t i) HWY_ATTR {
      // Not fused: the codes are the same where there are no fused operations.
      const RowVec sum = hn::Add(hn::Mul(hn::LoadU(d, x + i), times), round);
      hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(du, sum)), bytes, to + i);
    };
    for (size_t i = 0; i + lanes < n; i += lanes) write(i);
    return write(n - lanes);  // may overlap the vector before it
  }
#endif
  for (size_t i = 0; i < n; ++i) {
    const float scaled = x[i] * inverse;
    to[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(scaled + kAdd));
  }
}

// Of a row of the given largest magnitude, whose codes reach `most_code`.
struct Scale {
  float inverse;  // what its numbers are multiplied with; 0: all codes are zero
  float scale;

  Scale(int32_t bits, int most_code) {
    const float most = std::bit_cast<float>(bits);
    const bool finite = bits < kInfinity, zero = finite && most < kLeast;
    inverse = finite && !zero ? static_cast<float>(most_code) / most : 0.0f;
    scale = zero     ? 0.0f
            : finite ? most / static_cast<float>(most_code)
                     : std::numeric_limits<float>::quiet_NaN();
  }
  void finish_row(int64_t k, uint8_t* row) const {
    const int64_t padded = code_bytes(k);
    std::fill(row + k, row + padded, static_cast<uint8_t>(kCodeZero));
    std::memcpy(row + padded, &scale, sizeof scale);
  }
};

void rows_to_codes(const QuantizeArgs& args) {
  const size_t k = static_cast<size_t>(args.k);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.in + r * args.stride;
    uint8_t* to = args.out + r * args.out_stride;
    const Scale scale(largest(x, k, 0), kMostCode);
    if (scale.inverse == 0.0f) {
      std::memset(to, kCodeZero, k);
    } else {
      write_codes<kCodeZero>(x, k, scale.inverse, to);
    }
    scale.finish_row(args.k, to);
  }
}

// The largest magnitudes of the columns that a window sees. Neighbouring windows share columns, so
// only the new ones are read.
class ColumnMaxima {
 public:
  // For a window whose first column inside the grid is x; `read(column)` gives the maximum of one.
  template <class Read>
  HWY_INLINE int32_t of(int64_t x, int64_t columns, const Read& read) {
    int32_t most = 0;
    for (int64_t column = x; column < x + columns; ++column) {
      int32_t value;
      if (column >= first_ && column < last_) {
        value = kept_[column % kKept];
      } else {
        value = read(column);
        kept_[column % kKept] = value;
      }
      most = std::max(most, value);
    }
    first_ = std::max(x, x + columns - kKept);
    last_ = x + columns;
    return most;
  }
  void forget() { first_ = last_ = 0; }

 private:
  static constexpr int64_t kKept = 16;
  int32_t kept_[kKept] = {};
  int64_t first_ = 0, last_ = 0;  // the columns that are kept
};

void windows_to_codes(const QuantizeWindowsArgs& args) {
  const Windows& w = args.windows;
  const ConvGrid& g = args.grid;
  const int64_t line = w.kernel * g.channels, k = w.kernel * line;
  const size_t channels = static_cast<size_t>(g.channels);
  GridRow at(args.first_row, w.height, w.width);
  ColumnMaxima maxima;
  for (int64_t row = args.first_row; row < args.last_row; ++row, at.next(1, w.height, w.width)) {
    uint8_t* to = args.out + (row - args.first_row) * args.out_stride;
    const int64_t top = at.y * w.stride - w.top, left = at.x * w.stride - w.left;
    const int64_t before = std::clamp<int64_t>(-left, 0, w.kernel);
    const int64_t columns = std::clamp<int64_t>(g.width - left, before, w.kernel) - before;
    const size_t inside = static_cast<size_t>(columns * g.channels);
    const int64_t first = std::clamp<int64_t>(-top, 0, w.kernel);
    const int64_t last = std::clamp<int64_t>(g.height - top, first, w.kernel);
    const float* const image = args.in + at.image * g.height * g.width * g.channels;
    const auto pixel = [&](int64_t ky, int64_t x) {
      return image + ((top + ky) * g.width + x) * g.channels;
    };
    if (at.x == 0) maxima.forget();
    const int32_t most = maxima.of(left + before, columns, [&](int64_t x) HWY_ATTR {
      int32_t sofar = 0;
      for (int64_t ky = first; ky < last; ++ky) sofar = largest(pixel(ky, x), channels, sofar);
      return sofar;
    });
    const Scale scale(most, kMostCode);
    const bool whole = first == 0 && last == w.kernel && columns == w.kernel;
    if (!whole || scale.inverse == 0.0f) std::memset(to, kCodeZero, static_cast<size_t>(k));
    if (scale.inverse != 0.0f && inside > 0) {
      for (int64_t ky = first; ky < last; ++ky) {
        write_codes<kCodeZero>(pixel(ky, left + before), inside, scale.inverse,
                               to + ky * line + before * g.channels);
      }
    }
    scale.finish_row(k, to);
  }
}

void weights_to_codes(const float* weight, int64_t n, int64_t k, int8_t* codes, float* scales) {
  const size_t count = static_cast<size_t>(k);
  for (int64_t row = 0; row < n; ++row, weight += k, codes += k) {
    const Scale scale(largest(weight, count, 0), kMostWeight);
    scales[row] = scale.scale;
    if (scale.inverse == 0.0f) {
      std::fill_n(codes, k, int8_t{0});
    } else {
      write_codes<0>(weight, count, scale.inverse, reinterpret_cast<uint8_t*>(codes));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(rows_to_codes);
HWY_EXPORT(windows_to_codes);
HWY_EXPORT(weights_to_codes);

void quantize_rows(const QuantizeArgs& args) { HWY_DYNAMIC_DISPATCH(rows_to_codes)(args); }

void quantize_windows(const QuantizeWindowsArgs& args) {
  HWY_DYNAMIC_DISPATCH(windows_to_codes)(args);
}

void quantize_weights(const float* weight, int64_t n, int64_t k, int8_t* codes, float* scales) {
  HWY_DYNAMIC_DISPATCH(weights_to_codes)(weight, n, k, codes, scales);
}

}  // namespace vig
#endif  // HWY_ONCE
