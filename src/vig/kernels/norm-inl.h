// The row bodies of the norms, for kernels that finish a row in one go. Per-target header.
#if defined(VIG_KERNELS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_NORM_INL_H_
#undef VIG_KERNELS_NORM_INL_H_
#else
#define VIG_KERNELS_NORM_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// 1 / sqrt(sum / n + eps).
HWY_INLINE float inverse_root(float sum, size_t n, float eps) {
  return 1.0f / std::sqrt(sum / static_cast<float>(n) + eps);
}

// The same for kCount sums, spread over the lanes of a vector each. A division and a root take many
// cycles; whole vectors of them take hardly more than single ones.
template <size_t kCount>
HWY_INLINE void inverse_roots(const RowVec* sums, size_t n, float eps, float* out) {
  const RowTag d;
  sum_each<kCount>(sums, out);
  for (size_t i = 0; i < kCount; i += kRowLanes) {
    const RowVec mean = hn::Div(hn::LoadU(d, out + i), hn::Set(d, static_cast<float>(n)));
    const RowVec root = hn::Sqrt(hn::Add(mean, hn::Set(d, eps)));
    hn::StoreU(hn::Div(hn::Set(d, 1.0f), root), d, out + i);
  }
}

// Sum of squares of a row, lane by lane.
HWY_INLINE RowVec squares(const float* x, size_t n) {
  RowVec sum = hn::Zero(RowTag());
  for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
    const RowVec v = load(x + i);
    sum = hn::MulAdd(v, v, sum);
  });
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_NORM_INL_H_
