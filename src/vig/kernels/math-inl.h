// Elementary functions on vectors, for kernels to inline. Per-target header: include it after
// hwy/highway.h. Errors are a few units in the last place, see tests/kernels/pointwise_test.cpp.
#if defined(VIG_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_MATH_INL_H_
#undef VIG_KERNELS_MATH_INL_H_
#else
#define VIG_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^(kSign x) for |x| <= 87; outside, the value at the bound. Never infinite nor zero, so that
// 1 / (1 + e^x) needs no special case. Relative error below 1.5e-7 for |x| <= 20, 4e-7 elsewhere.
template <int kSign = 1, class D, class V = hn::Vec<D>>
HWY_INLINE V exp_clamped(D d, V x) {
  static_assert(kSign == 1 || kSign == -1);
  constexpr float kS = static_cast<float>(kSign);
  const hn::RebindToSigned<D> di;
  x = hn::Max(hn::Min(x, hn::Set(d, 87.0f)), hn::Set(d, -87.0f));
  // kSign x = n ln2 + kSign r, |r| <= ln2 / 2. Adding 1.5 * 2^23 rounds to a whole number n, which
  // then also stands in the low bits of the sum.
  const V magic = hn::Set(d, 12582912.0f);
  const V sum = hn::MulAdd(x, hn::Set(d, kS * 1.44269504089f), magic);
  const V n = hn::Sub(sum, magic);
#if HWY_NATIVE_FMA
  const V r = hn::MulAdd(n, hn::Set(d, -kS * 0.69314718056f), x);
#else
  // A product that is rounded must not lose anything: ln2 in two parts, the first of 10 bits.
  const V r = hn::MulAdd(n, hn::Set(d, kS * 2.12194440e-4f),
                         hn::MulAdd(n, hn::Set(d, -kS * 0.693359375f), x));
#endif
  // Minimax for e^(kSign r) on that interval.
  V p = hn::Set(d, 1.38358015e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, kS * 8.37564562e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.16682884e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, kS * 1.66664109e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.99999911e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, kS));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  // p * 2^n: n is added to the exponent.
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, sum));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
}

// 1 / x for 1 <= x < 2^127: an estimate and Newton steps are cheaper than a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocal(D d, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Div(hn::Set(d, 1.0f), x);
#else
  const V one = hn::Set(d, 1.0f);
  V r = hn::ApproximateReciprocal(x);
#if HWY_ARCH_ARM
  r = hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);  // the estimate has 8 bits there, 12 elsewhere
#endif
  return hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  return reciprocal(d, hn::Add(hn::Set(d, 1.0f), exp_clamped<-1>(d, x)));
}

// sigmoid(x) and sigmoid(-x); 1 - sigmoid(x) would lose the digits of the second where x is large.
template <class V>
struct Sigmoids {
  V plus, minus;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Sigmoids<V> sigmoids(D d, V x) {
  const V e = exp_clamped<-1>(d, x);
  const V plus = reciprocal(d, hn::Add(hn::Set(d, 1.0f), e));
  return {plus, hn::Mul(e, plus)};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu(D d, V x) {
  return hn::Mul(x, sigmoid(d, x));
}

// d silu / dx = sigmoid(x) (1 + x sigmoid(-x)); beyond 87, where the exponential stops, at 87.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu_slope(D d, V x) {
  x = hn::Max(hn::Min(x, hn::Set(d, 87.0f)), hn::Set(d, -87.0f));
  const Sigmoids<V> s = sigmoids(d, x);
  return hn::Mul(s.plus, hn::MulAdd(x, s.minus, hn::Set(d, 1.0f)));
}

// (1 + w^16)^(-1/16) and w^16 for 0 <= w <= 1.
template <class V>
struct DecayParts {
  V root, power;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE DecayParts<V> decay_parts(D d, V w) {
  V u = hn::Mul(w, w);
  u = hn::Mul(u, u);
  u = hn::Mul(u, u);
  u = hn::Mul(u, u);
  // Minimax for (1 + u)^(-1/16) on [0, 1].
  V p = hn::Set(d, -1.03682401e-03f);
  p = hn::MulAdd(p, u, hn::Set(d, 4.80290093e-03f));
  p = hn::MulAdd(p, u, hn::Set(d, -1.06282292e-02f));
  p = hn::MulAdd(p, u, hn::Set(d, 1.64481825e-02f));
  p = hn::MulAdd(p, u, hn::Set(d, -2.26776612e-02f));
  p = hn::MulAdd(p, u, hn::Set(d, 3.31947575e-02f));
  p = hn::MulAdd(p, u, hn::Set(d, -6.24999229e-02f));
  p = hn::MulAdd(p, u, hn::Set(d, 1.0f));
  return {p, u};
}

// exp(logsigmoid(x) / 16) = (1 + e^-x)^(-1/16), the gate of the scan. With w = e^(-|x| / 16) it is
// (1 + w^16)^(-1/16), times w where x is negative: one exponential, and no term overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V decay(D d, V x) {
  const V w = exp_clamped(d, hn::Mul(hn::Abs(x), hn::Set(d, -1.0f / 16.0f)));
  return hn::Mul(decay_parts(d, w).root,
                 hn::IfThenElse(hn::Lt(x, hn::Zero(d)), w, hn::Set(d, 1.0f)));
}

// d decay / dx = decay(x) sigmoid(-x) / 16, where sigmoid(-x) is 1 / (1 + w^16) for negative x and
// w^16 times that for others. The power raises the error of w to 3e-6.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V decay_slope(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V w = exp_clamped(d, hn::Mul(hn::Abs(x), hn::Set(d, -1.0f / 16.0f)));
  const DecayParts<V> parts = decay_parts(d, w);
  const V other = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), w, parts.power);
  const V both = hn::Mul(parts.root, reciprocal(d, hn::Add(one, parts.power)));
  return hn::Mul(hn::Mul(both, other), hn::Set(d, 1.0f / 16.0f));
}

// 1 - erf(|x| / sqrt 2) by Abramowitz and Stegun 7.1.26, absolute error 1.5e-7, and e^(-x^2 / 2).
template <class V>
struct NormalParts {
  V tail, bell;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE NormalParts<V> normal_parts(D d, V x) {
  const V z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678f));
  const V t = reciprocal(d, hn::MulAdd(z, hn::Set(d, 0.3275911f), hn::Set(d, 1.0f)));
  V p = hn::Set(d, 1.061405429f);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
  const V bell = exp_clamped<-1>(d, hn::Mul(z, z));
  return {hn::Mul(hn::Mul(p, t), bell), bell};
}

// x / 2 * (1 + erf(x / sqrt2)), which is x - x/2 tail for x >= 0 and x/2 tail below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu(D d, V x) {
  const V half_tail = hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), normal_parts(d, x).tail);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Sub(x, half_tail), half_tail);
}

// d gelu / dx = (1 + erf(x / sqrt2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi). Beyond 14 the second term
// is nothing, but the exponential stops short of zero.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_slope(D d, V x) {
  x = hn::Max(hn::Min(x, hn::Set(d, 14.0f)), hn::Set(d, -14.0f));
  const NormalParts<V> parts = normal_parts(d, x);
  const V half = hn::Mul(parts.tail, hn::Set(d, 0.5f));
  const V below = hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), half), half);
  return hn::MulAdd(hn::Mul(x, hn::Set(d, 0.39894228f)), parts.bell, below);
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_MATH_INL_H_
