// Exponentials of the selective scan, for kernels to inline. Per-target header.
#if defined(VIG_KERNELS_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_EXP_INL_H_
#undef VIG_KERNELS_EXP_INL_H_
#else
#define VIG_KERNELS_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// One operation on each of kCount vectors before the next one: these are long chains, and a
// processor overlaps no more than a few chains.
#define VIG_INTERLEAVED _Pragma("GCC unroll 8") for (size_t k = 0; k < kCount; ++k)

// Exponentials that are best interleaved: their constants stay in registers, too.
#if HWY_MAX_BYTES == 64 || HWY_ARCH_ARM_A64
constexpr size_t kTogether = 4;  // 32 registers
#else
constexpr size_t kTogether = 2;  // 16 registers
#endif

// Calls f(count, n) for n = 0, kTogether, ... while there are so many, then for single ones; count
// is an integral_constant.
template <class F>
HWY_INLINE void each_interleaved(size_t total, const F& f) {
  size_t n = 0;
  for (; n + kTogether <= total; n += kTogether) f(std::integral_constant<size_t, kTogether>(), n);
  for (; n < total; ++n) f(std::integral_constant<size_t, 1>(), n);
}

// 2^(a b) is taken as 2^n (1 + r q(r)), a b = n + r, |r| <= 1/2: the product enters twice, each
// time in a fused operation. Relative error 1.7e-7, and smaller as a b comes near 0, where a decay
// is repeated most often.

// Below this a power may be off, or zero.
constexpr float kLeastPower = -125.0f;
// The product may not be below this.
constexpr float kLeastProduct = -2097152.0f;  // -2^21

// power[k] = 2^(a[k] b[k]) for kLeastProduct <= a b <= 0, kCount of them interleaved. Without
// kVanishing a b must be at least kLeastPower; where it is, both give the same bits.
template <bool kVanishing, size_t kCount>
HWY_INLINE void exp2_products(const RowVec (&a)[kCount], const RowVec (&b)[kCount],
                              RowVec (&power)[kCount]) {
  const RowTag d;
  // Adding 1.5 * 2^23 rounds to a whole number, which then also stands in the low bits of the sum.
  const RowVec magic = hn::Set(d, 12582912.0f);
  RowVec sum[kCount], r[kCount];
  VIG_INTERLEAVED sum[k] = hn::MulAdd(a[k], b[k], magic);
  VIG_INTERLEAVED r[k] = hn::MulSub(a[k], b[k], hn::Sub(sum[k], magic));
  // Minimax for 2^r on that interval among those that are 1 at 0.
  VIG_INTERLEAVED power[k] =
      hn::MulAdd(r[k], hn::Set(d, 1.32647221e-3f), hn::Set(d, 9.67151300e-3f));
  for (const float c : {5.55073376e-2f, 2.40222421e-1f, 6.93146978e-1f, 1.0f}) {
    VIG_INTERLEAVED power[k] = hn::MulAdd(power[k], r[k], hn::Set(d, c));
  }
  VIG_INTERLEAVED {
#if HWY_ARCH_X86 && HWY_MAX_BYTES == 64
    power[k] = RowVec{_mm512_scalef_ps(power[k].raw, hn::Sub(sum[k], magic).raw)};
#else
    const hn::RebindToSigned<RowTag> di;
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, sum[k]));
    power[k] = hn::BitCast(d, hn::Add(hn::BitCast(di, power[k]), exponent));
    if constexpr (kVanishing) {
      const auto kept = hn::Ge(sum[k], hn::Set(d, 12582912.0f + kLeastPower));
      power[k] = hn::IfThenElseZero(kept, power[k]);
    }
#endif
  }
}

// y[k] = log(1 + e^x[k]) = max(x, 0) + log(1 + w), w = e^-|x|, kCount of them interleaved. Relative
// error below 4e-7 for x >= -20 and 2e-6 down to x = -86, where it stops.
template <size_t kCount>
HWY_INLINE void softplus(const RowVec (&x)[kCount], RowVec (&y)[kCount]) {
  const RowTag d;
  RowVec size[kCount], factor[kCount], w[kCount];
  VIG_INTERLEAVED size[k] = hn::Min(hn::Abs(x[k]), hn::Set(d, 86.0f));
  VIG_INTERLEAVED factor[k] = hn::Set(d, -1.44269504f);
  exp2_products<false>(size, factor, w);
  // Minimax for log(1 + w) / w on [0, 1] among those that are 1 at 0.
  VIG_INTERLEAVED y[k] = hn::MulAdd(w[k], hn::Set(d, 5.36467103e-3f), hn::Set(d, -3.00651792e-2f));
  for (const float c : {7.92035408e-2f, -1.37537185e-1f, 1.91536160e-1f, -2.48571540e-1f,
                        3.33213215e-1f, -4.99996479e-1f, 1.0f}) {
    VIG_INTERLEAVED y[k] = hn::MulAdd(y[k], w[k], hn::Set(d, c));
  }
  VIG_INTERLEAVED y[k] = hn::MulAdd(y[k], w[k], hn::Max(x[k], hn::Zero(d)));
}

#undef VIG_INTERLEAVED

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_EXP_INL_H_
