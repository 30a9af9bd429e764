// Elementary functions on vectors, for kernels to inline. Per-target header: include it after
// hwy/highway.h. Errors are a few units in the last place, see tests/kernels/pointwise_test.cpp.
#if defined(VIG_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_MATH_INL_H_
#undef VIG_KERNELS_MATH_INL_H_
#else
#define VIG_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Vectors that go through a formula in step. The formulas below are chains of up to thirty
// dependent operations, and a processor looks no more than about four chains ahead: operations of
// several vectors next to each other keep it busy. A Twin of Twins is four vectors.
template <class P>
struct Twin {
  P low, high;
};
template <class P>
constexpr bool kIsTwin = false;
template <class P>
constexpr bool kIsTwin<Twin<P>> = true;

template <class P>
HWY_INLINE P low(const Twin<P>& x) {
  return x.low;
}
template <class P>
HWY_INLINE P high(const Twin<P>& x) {
  return x.high;
}
HWY_INLINE RowVec low(RowVec x) { return x; }
HWY_INLINE RowVec high(RowVec x) { return x; }
HWY_INLINE float low(float x) { return x; }
HWY_INLINE float high(float x) { return x; }
HWY_INLINE RowVec vector_of(RowVec x) { return x; }
HWY_INLINE RowVec vector_of(float x) { return hn::Set(RowTag(), x); }

// f on every vector of the arguments; a single vector or number goes to all.
template <class F, class... P>
HWY_INLINE auto in_step(const F& f, P... x) {
  if constexpr ((kIsTwin<P> || ...)) {
    const auto first = in_step(f, low(x)...);
    const auto second = in_step(f, high(x)...);
    return Twin<std::remove_const_t<decltype(first)>>{first, second};
  } else {
    return f(vector_of(x)...);
  }
}

template <class A, class B>
HWY_INLINE auto add(A a, B b) {
  return in_step([](RowVec x, RowVec y) HWY_ATTR { return hn::Add(x, y); }, a, b);
}
template <class A, class B>
HWY_INLINE auto sub(A a, B b) {
  return in_step([](RowVec x, RowVec y) HWY_ATTR { return hn::Sub(x, y); }, a, b);
}
template <class A, class B>
HWY_INLINE auto mul(A a, B b) {
  return in_step([](RowVec x, RowVec y) HWY_ATTR { return hn::Mul(x, y); }, a, b);
}
// a b + c
template <class A, class B, class C>
HWY_INLINE auto mul_add(A a, B b, C c) {
  return in_step([](RowVec x, RowVec y, RowVec z) HWY_ATTR { return hn::MulAdd(x, y, z); }, a, b,
                 c);
}
// c - a b
template <class A, class B, class C>
HWY_INLINE auto neg_mul_add(A a, B b, C c) {
  return in_step([](RowVec x, RowVec y, RowVec z) HWY_ATTR { return hn::NegMulAdd(x, y, z); }, a, b,
                 c);
}
template <class P>
HWY_INLINE P clamp(P a, float least, float most) {
  const P bounded = in_step([](RowVec x, RowVec y) HWY_ATTR { return hn::Min(x, y); }, a, most);
  return in_step([](RowVec x, RowVec y) HWY_ATTR { return hn::Max(x, y); }, bounded, least);
}
template <class P>
HWY_INLINE P absolute(P a) {
  return in_step([](RowVec x) HWY_ATTR { return hn::Abs(x); }, a);
}
// x < 0 ? yes : no
template <class P, class A, class B>
HWY_INLINE P if_negative(P x, A yes, B no) {
  return in_step([](RowVec v, RowVec a, RowVec b)
                     HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(RowTag())), a, b); },
                 x, yes, no);
}

// e^(kSign x) for |x| <= 87; outside, the value at the bound. Never infinite nor zero, so that
// 1 / (1 + e^x) needs no special case. Relative error below 1.5e-7 for |x| <= 20, 4e-7 elsewhere.
template <int kSign = 1, class P>
HWY_INLINE P exp_clamped(P x) {
  static_assert(kSign == 1 || kSign == -1);
  constexpr float kS = static_cast<float>(kSign);
  x = clamp(x, -87.0f, 87.0f);
  // kSign x = n ln2 + kSign r, |r| <= ln2 / 2. Adding 1.5 * 2^23 rounds to a whole number n, which
  // then also stands in the low bits of the sum.
  constexpr float kMagic = 12582912.0f;
  const P sum = mul_add(x, kS * 1.44269504089f, kMagic);
  const P n = sub(sum, kMagic);
#if HWY_NATIVE_FMA
  const P r = mul_add(n, -kS * 0.69314718056f, x);
#else
  // A product that is rounded must not lose anything: ln2 in two parts, the first of 10 bits.
  const P r = mul_add(n, kS * 2.12194440e-4f, mul_add(n, -kS * 0.693359375f, x));
#endif
  // Minimax for e^(kSign r) on that interval.
  P p = mul_add(r, 1.38358015e-3f, kS * 8.37564562e-3f);
  p = mul_add(p, r, 4.16682884e-2f);
  p = mul_add(p, r, kS * 1.66664109e-1f);
  p = mul_add(p, r, 4.99999911e-1f);
  p = mul_add(p, r, kS);
  p = mul_add(p, r, 1.0f);
  // p * 2^n: n is added to the exponent.
  return in_step(
      [](RowVec power, RowVec whole) HWY_ATTR {
        const RowTag d;
        const hn::RebindToSigned<RowTag> di;
        const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, whole));
        return hn::BitCast(d, hn::Add(hn::BitCast(di, power), exponent));
      },
      p, sum);
}

// 1 / x for 1 <= x < 2^127: an estimate and Newton steps are cheaper than a division.
template <class P>
HWY_INLINE P reciprocal(P x) {
#if HWY_TARGET == HWY_SCALAR
  return in_step([](RowVec v) HWY_ATTR { return hn::Div(hn::Set(RowTag(), 1.0f), v); }, x);
#else
  P r = in_step([](RowVec v) HWY_ATTR { return hn::ApproximateReciprocal(v); }, x);
#if HWY_ARCH_ARM
  r = mul_add(r, neg_mul_add(x, r, 1.0f), r);  // the estimate has 8 bits there, 12 elsewhere
#endif
  return mul_add(r, neg_mul_add(x, r, 1.0f), r);
#endif
}

template <class P>
HWY_INLINE P sigmoid(P x) {
  return reciprocal(add(exp_clamped<-1>(x), 1.0f));
}

// sigmoid(x) and sigmoid(-x); 1 - sigmoid(x) would lose the digits of the second where x is large.
template <class P>
struct Sigmoids {
  P plus, minus;
};
template <class P>
HWY_INLINE Sigmoids<P> sigmoids(P x) {
  const P e = exp_clamped<-1>(x);
  const P plus = reciprocal(add(e, 1.0f));
  return {plus, mul(e, plus)};
}

template <class P>
HWY_INLINE P silu(P x) {
  return mul(x, sigmoid(x));
}

// d silu / dx = sigmoid(x) (1 + x sigmoid(-x)); beyond 87, where the exponential stops, at 87.
template <class P>
HWY_INLINE P silu_slope(P x) {
  x = clamp(x, -87.0f, 87.0f);
  const Sigmoids<P> s = sigmoids(x);
  return mul(s.plus, mul_add(x, s.minus, 1.0f));
}

// (1 + w^16)^(-1/16) and w^16 for 0 <= w <= 1.
template <class P>
struct DecayParts {
  P root, power;
};
template <class P>
HWY_INLINE DecayParts<P> decay_parts(P w) {
  P u = mul(w, w);
  u = mul(u, u);
  u = mul(u, u);
  u = mul(u, u);
  // Minimax for (1 + u)^(-1/16) on [0, 1].
  P p = mul_add(u, -1.03682401e-03f, 4.80290093e-03f);
  p = mul_add(p, u, -1.06282292e-02f);
  p = mul_add(p, u, 1.64481825e-02f);
  p = mul_add(p, u, -2.26776612e-02f);
  p = mul_add(p, u, 3.31947575e-02f);
  p = mul_add(p, u, -6.24999229e-02f);
  p = mul_add(p, u, 1.0f);
  return {p, u};
}

// exp(logsigmoid(x) / 16) = (1 + e^-x)^(-1/16), the gate of the scan. With w = e^(-|x| / 16) it is
// (1 + w^16)^(-1/16), times w where x is negative: one exponential, and no term overflows.
template <class P>
HWY_INLINE P decay(P x) {
  const P w = exp_clamped(mul(absolute(x), -1.0f / 16.0f));
  return mul(decay_parts(w).root, if_negative(x, w, 1.0f));
}

// d decay / dx = decay(x) sigmoid(-x) / 16, where sigmoid(-x) is 1 / (1 + w^16) for negative x and
// w^16 times that for others. The power raises the error of w to 3e-6.
template <class P>
HWY_INLINE P decay_slope(P x) {
  const P w = exp_clamped(mul(absolute(x), -1.0f / 16.0f));
  const DecayParts<P> parts = decay_parts(w);
  const P both = mul(parts.root, reciprocal(add(parts.power, 1.0f)));
  return mul(mul(both, if_negative(x, w, parts.power)), 1.0f / 16.0f);
}

// 1 - erf(|x| / sqrt 2) by Abramowitz and Stegun 7.1.26, absolute error 1.5e-7, and e^(-x^2 / 2).
template <class P>
struct NormalParts {
  P tail, bell;
};
template <class P>
HWY_INLINE NormalParts<P> normal_parts(P x) {
  const P z = mul(absolute(x), 0.70710678f);
  const P t = reciprocal(mul_add(z, 0.3275911f, 1.0f));
  P p = mul_add(t, 1.061405429f, -1.453152027f);
  p = mul_add(p, t, 1.421413741f);
  p = mul_add(p, t, -0.284496736f);
  p = mul_add(p, t, 0.254829592f);
  const P bell = exp_clamped<-1>(mul(z, z));
  return {mul(mul(p, t), bell), bell};
}

// x / 2 * (1 + erf(x / sqrt2)), which is x - x/2 tail for x >= 0 and x/2 tail below.
template <class P>
HWY_INLINE P gelu(P x) {
  const P half_tail = mul(mul(x, 0.5f), normal_parts(x).tail);
  return if_negative(x, half_tail, sub(x, half_tail));
}

// d gelu / dx = (1 + erf(x / sqrt2)) / 2 + x e^(-x^2 / 2) / sqrt(2 pi). Beyond 14 the second term
// is nothing, but the exponential stops short of zero.
template <class P>
HWY_INLINE P gelu_slope(P x) {
  x = clamp(x, -14.0f, 14.0f);
  const NormalParts<P> parts = normal_parts(x);
  const P half = mul(parts.tail, 0.5f);
  const P below = if_negative(x, half, sub(1.0f, half));
  return mul_add(mul(x, 0.39894228f), parts.bell, below);
}

// Four vectors of a row, or of four rows that are `step` floats apart.
using Four = Twin<Twin<RowVec>>;
HWY_INLINE Four load_four(const float* p, size_t step = kRowLanes) {
  const RowTag d;
  return {{hn::LoadU(d, p), hn::LoadU(d, p + step)},
          {hn::LoadU(d, p + 2 * step), hn::LoadU(d, p + 3 * step)}};
}
HWY_INLINE void store_pair(const Twin<RowVec>& v, float* p, size_t step = kRowLanes) {
  hn::StoreU(v.low, RowTag(), p);
  hn::StoreU(v.high, RowTag(), p + step);
}
HWY_INLINE void store_four(const Four& v, float* p, size_t step = kRowLanes) {
  store_pair(v.low, p, step);
  store_pair(v.high, p + 2 * step, step);
}

// for_each_vector, in step: what load gives and store takes is four vectors as long as there are so
// many, then two, then one.
template <class F>
HWY_INLINE void for_each_in_step(size_t n, const F& f) {
  size_t i = 0;
  for (; i + 4 * kRowLanes <= n; i += 4 * kRowLanes) {
    f(
        i, [](const float* p) HWY_ATTR { return load_four(p); },
        [](const Four& v, float* p) HWY_ATTR { store_four(v, p); });
  }
  if (i + 2 * kRowLanes <= n) {
    f(
        i,
        [](const float* p) HWY_ATTR {
          const RowTag d;
          return Twin<RowVec>{hn::LoadU(d, p), hn::LoadU(d, p + kRowLanes)};
        },
        [](const Twin<RowVec>& v, float* p) HWY_ATTR { store_pair(v, p); });
    i += 2 * kRowLanes;
  }
  for_each_vector(n - i, [&](size_t j, const auto& load, const auto& store)
                             HWY_ATTR { f(i + j, load, store); });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_MATH_INL_H_
