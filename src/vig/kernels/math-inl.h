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

// e^x for |x| <= 87; outside, the value at the bound. Never infinite nor zero, so that 1 / (1 +
// e^x) needs no special case.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_clamped(D d, V x) {
  const hn::RebindToSigned<D> di;
  x = hn::Max(hn::Min(x, hn::Set(d, 87.0f)), hn::Set(d, -87.0f));
  // x = n ln2 + r, |r| <= ln2 / 2; ln2 in two parts keeps r exact.
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504089f)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // Degree 5 minimax of (e^r - 1 - r) / r^2.
  V p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0f));
  const auto bits = hn::ShiftLeft<23>(hn::ConvertTo(di, n));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), bits));
}

// 1 / x for 1 <= x < 2^127: an estimate and two Newton steps are cheaper than a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocal(D d, V x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Div(hn::Set(d, 1.0f), x);
#else
  V r = hn::ApproximateReciprocal(x);
  const V one = hn::Set(d, 1.0f);
  r = hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
  return hn::MulAdd(r, hn::NegMulAdd(x, r, one), r);
#endif
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V x) {
  return reciprocal(d, hn::Add(hn::Set(d, 1.0f), exp_clamped(d, hn::Neg(x))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu(D d, V x) {
  return hn::Mul(x, sigmoid(d, x));
}

// Natural logarithm of 1 <= x <= 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_one_to_two(D d, V x) {
  // Centre on sqrt(2) and use ln(x) = 2 atanh(s), s = (x - c) / (x + c).
  const V c = hn::Set(d, 1.41421356f);
  const V s = hn::Div(hn::Sub(x, c), hn::Add(x, c));  // |s| <= 0.1716
  const V s2 = hn::Mul(s, s);
  V p = hn::Set(d, 2.0f / 9.0f);
  p = hn::MulAdd(p, s2, hn::Set(d, 2.0f / 7.0f));
  p = hn::MulAdd(p, s2, hn::Set(d, 2.0f / 5.0f));
  p = hn::MulAdd(p, s2, hn::Set(d, 2.0f / 3.0f));
  p = hn::MulAdd(p, s2, hn::Set(d, 2.0f));
  return hn::MulAdd(p, s, hn::Set(d, 0.34657359f));
}

// exp(logsigmoid(x) / 16), the gate of the scan. logsigmoid(x) = min(x, 0) - ln(1 + e^-|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V decay(D d, V x) {
  const V small = exp_clamped(d, hn::Neg(hn::Abs(x)));
  const V log1p = log_one_to_two(d, hn::Add(hn::Set(d, 1.0f), small));
  const V log_sigmoid = hn::Sub(hn::Min(x, hn::Zero(d)), log1p);
  return exp_clamped(d, hn::Mul(log_sigmoid, hn::Set(d, 1.0f / 16.0f)));
}

// x / 2 * (1 + erf(x / sqrt2)); erf by Abramowitz and Stegun 7.1.26, absolute error 1.5e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu(D d, V x) {
  const V z = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678f));
  const V t = reciprocal(d, hn::MulAdd(z, hn::Set(d, 0.3275911f), hn::Set(d, 1.0f)));
  V p = hn::Set(d, 1.061405429f);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
  const V tail = hn::Mul(hn::Mul(p, t), exp_clamped(d, hn::Neg(hn::Mul(z, z))));  // 1 - erf(|z|)
  // x/2 (1 + erf) is x - x/2 tail for x >= 0 and x/2 tail below.
  const V half_tail = hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), tail);
  return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), hn::Sub(x, half_tail), half_tail);
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_MATH_INL_H_
