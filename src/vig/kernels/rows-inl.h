// Loops over one row of floats in vectors, the last one partial. Per-target header.
#if defined(VIG_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_ROWS_INL_H_
#undef VIG_KERNELS_ROWS_INL_H_
#else
#define VIG_KERNELS_ROWS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using RowTag = hn::ScalableTag<float>;
using RowVec = hn::Vec<RowTag>;
constexpr size_t kRowLanes = hn::MaxLanes(RowTag());

HWY_INLINE size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// The first `count` floats of a vector, zero elsewhere; nothing beyond them is touched.
HWY_INLINE RowVec load_part(const float* from, size_t count) {
  const RowTag d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
}

HWY_INLINE void store_part(RowVec v, float* to, size_t count) {
  const RowTag d;
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// Calls f(i, load, store) for each vector of a row of n floats: load(pointer) and
// store(vector, pointer) act on the lanes that exist.
template <class F>
HWY_INLINE void for_each_vector(size_t n, const F& f) {
  const RowTag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    f(
        i, [](const float* p) HWY_ATTR { return hn::LoadU(RowTag(), p); },
        [](RowVec v, float* p) HWY_ATTR { hn::StoreU(v, RowTag(), p); });
  }
  if (i < n) {
    const size_t rest = n - i;
    f(
        i, [rest](const float* p) HWY_ATTR { return load_part(p, rest); },
        [rest](RowVec v, float* p) HWY_ATTR { store_part(v, p, rest); });
  }
}

// For copies too short for a call of memcpy. The last vector overlaps the one before it.
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

// Sum of all lanes in a fixed order.
HWY_INLINE float sum_lanes(RowVec v) {
  const RowTag d;
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// The sum of each of kCount vectors, in order, to out (filled up to whole vectors). Neighbouring
// lanes are added until kWidth, the lanes a sum is spread over, is one: half the shuffles of
// summing every vector by itself.
template <size_t kCount, size_t kWidth = kRowLanes>
HWY_INLINE void sum_each(const RowVec* v, float* out) {
  const RowTag d;
  if constexpr (kWidth == 1) {
#pragma GCC unroll 16
    for (size_t i = 0; i < kCount; ++i) hn::StoreU(v[i], d, out + i * kRowLanes);
  } else {
#if HWY_TARGET != HWY_SCALAR
    constexpr size_t kHalf = (kCount + 1) / 2;
    RowVec half[kHalf];
#pragma GCC unroll 16
    for (size_t i = 0; i < kHalf; ++i) {
      const RowVec a = v[2 * i], b = 2 * i + 1 < kCount ? v[2 * i + 1] : hn::Zero(d);
      half[i] = hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
    }
    sum_each<kHalf, kWidth / 2>(half, out);
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_ROWS_INL_H_
