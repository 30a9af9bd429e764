// Elementary functions on vectors, for kernels to inline. Per-target header: include it after
// hwy/highway.h. Errors are a few ulp, see tests/kernels/pointwise_test.cpp.
#if defined(VIG_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_MATH_INL_H_
#undef VIG_KERNELS_MATH_INL_H_
#else
#define VIG_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "vig/base/elementwise.h"
#include "vig/kernels/interleave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Minimax for e^r, |r| <= ln2 / 2, from the highest power on.
constexpr float kExpTerms[] = {
    1.38358015e-3f, 8.37564562e-3f, 4.16682884e-2f, 1.66664109e-1f, 4.99999911e-1f, 1.0f, 1.0f};

// e^(kSign x) for |x| <= 87, which the caller has made sure of. NaN stays NaN. Relative error below
// 1.5e-7 for |x| <= 20, 4e-7 elsewhere.
template <int kSign = 1, class P>
HWY_INLINE P exp_bounded(P x) {
  static_assert(kSign == 1 || kSign == -1);
  constexpr float kS = static_cast<float>(kSign);
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
  P p = mul_add(r, kExpTerms[0], kS * kExpTerms[1]);
  p = mul_add(p, r, kExpTerms[2]);
  p = mul_add(p, r, kS * kExpTerms[3]);
  p = mul_add(p, r, kExpTerms[4]);
  p = mul_add(p, r, kS * kExpTerms[5]);
  p = mul_add(p, r, kExpTerms[6]);
  // p * 2^n: n is added to the exponent.
  return interleave(
      [](RowVec power, RowVec whole) HWY_ATTR {
        const RowTag d;
        const hn::RebindToSigned<RowTag> di;
        const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, whole));
        return hn::BitCast(d, hn::Add(hn::BitCast(di, power), exponent));
      },
      p, sum);
}

// exp_bounded of kCount vectors, interleaved. In an array, since GCC 12 copies structs of
// vectors through memory.
template <size_t kCount>
HWY_INLINE void exp_each(RowVec* x) {
  const RowTag d;
  const hn::RebindToSigned<RowTag> di;
  const RowVec magic = hn::Set(d, 12582912.0f);
  RowVec sum[kCount], p[kCount];
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) sum[i] = hn::MulAdd(x[i], hn::Set(d, 1.44269504089f), magic);
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) {
    const RowVec n = hn::Sub(sum[i], magic);
#if HWY_NATIVE_FMA
    x[i] = hn::MulAdd(n, hn::Set(d, -0.69314718056f), x[i]);
#else
    x[i] = hn::MulAdd(n, hn::Set(d, -0.693359375f), x[i]);
    x[i] = hn::MulAdd(n, hn::Set(d, 2.12194440e-4f), x[i]);
#endif
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) p[i] = hn::Set(d, kExpTerms[0]);
#pragma GCC unroll 8
  for (size_t term = 1; term < 7; ++term) {
#pragma GCC unroll 8
    for (size_t i = 0; i < kCount; ++i) {
      p[i] = hn::MulAdd(p[i], x[i], hn::Set(d, kExpTerms[term]));
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kCount; ++i) {
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, sum[i]));
    x[i] = hn::BitCast(d, hn::Add(hn::BitCast(di, p[i]), exponent));
  }
}

// e^(kSign x) for |x| <= 87; outside, the value at the bound. Never infinite nor zero, so that
// 1 / (1 + e^x) needs no special case.
template <int kSign = 1, class P>
HWY_INLINE P exp_clamped(P x) {
  return exp_bounded<kSign>(clamp(x, -87.0f, 87.0f));
}

// 1 / x for 1 <= x < 2^127: an estimate and Newton iterations are cheaper than a division.
template <class P>
HWY_INLINE P reciprocal(P x) {
#if HWY_TARGET == HWY_SCALAR
  return interleave([](RowVec v) HWY_ATTR { return hn::Div(hn::Set(RowTag(), 1.0f), v); }, x);
#else
  P r = interleave([](RowVec v) HWY_ATTR { return hn::ApproximateReciprocal(v); }, x);
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

// Every elementwise function with its derivative.
struct Identity {
  template <class P>
  static HWY_INLINE P value(P x) {
    return x;
  }
  static HWY_INLINE RowVec slope(RowVec) { return hn::Set(RowTag(), 1.0f); }
};

// Not a number stays one.
struct Relu {
  template <class P>
  static HWY_INLINE P value(P x) {
    return if_negative(x, 0.0f, x);
  }
  static HWY_INLINE RowVec slope(RowVec x) {
    const RowTag d;
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f));
  }
};

struct Relu2 {
  template <class P>
  static HWY_INLINE P value(P x) {
    const P part = if_negative(x, 0.0f, x);
    return mul(part, part);
  }
  static HWY_INLINE RowVec slope(RowVec x) {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(RowTag())), hn::Add(x, x));
  }
};

struct Silu {
  template <class P>
  static HWY_INLINE P value(P x) {
    return silu(x);
  }
  static HWY_INLINE RowVec slope(RowVec x) { return silu_slope(x); }
};

struct Gelu {
  template <class P>
  static HWY_INLINE P value(P x) {
    return gelu(x);
  }
  static HWY_INLINE RowVec slope(RowVec x) { return gelu_slope(x); }
};

struct Sigmoid {
  template <class P>
  static HWY_INLINE P value(P x) {
    return sigmoid(x);
  }
  static HWY_INLINE RowVec slope(RowVec x) {
    const Sigmoids<RowVec> s = sigmoids(x);
    return hn::Mul(s.plus, s.minus);
  }
};

struct Decay {
  template <class P>
  static HWY_INLINE P value(P x) {
    return decay(x);
  }
  static HWY_INLINE RowVec slope(RowVec x) { return decay_slope(x); }
};

// The only mapping from the name of a function to code: calls visit(Silu()), ...
template <class Visit>
HWY_INLINE void with_function(Elementwise function, const Visit& visit) {
  switch (function) {
    case Elementwise::kIdentity:
      return visit(Identity());
    case Elementwise::kRelu:
      return visit(Relu());
    case Elementwise::kRelu2:
      return visit(Relu2());
    case Elementwise::kSilu:
      return visit(Silu());
    case Elementwise::kGelu:
      return visit(Gelu());
    case Elementwise::kSigmoid:
      return visit(Sigmoid());
    case Elementwise::kDecay:
      return visit(Decay());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_MATH_INL_H_
