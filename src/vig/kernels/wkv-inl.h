// The weighted sums of bidirectional WKV and of its gradient, for kernels to inline. Per-target
// header.
#if defined(VIG_KERNELS_WKV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_WKV_INL_H_
#undef VIG_KERNELS_WKV_INL_H_
#else
#define VIG_KERNELS_WKV_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Values here are mantissas times 2^exponent, where the exponent is an integral float.

// The exponent of zero: after any addition or subtraction it stays below all others.
constexpr float kNoExponent = -1e30f;

// 2^n for whole n <= 127, zero below -126.
HWY_INLINE RowVec power_of_two(RowVec n) {
  const RowTag d;
  const hn::RebindToSigned<RowTag> di;
  // 1.5 * 2^23 + 127 + n has n + 127, the exponent bits of 2^n, in its low bits.
  const RowVec sum = hn::Add(hn::Max(n, hn::Set(d, -127.0f)), hn::Set(d, 12583039.0f));
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, sum)));
}

// e^x as a mantissa in [0.7, 1.5] and an exponent, for |x| <= 10^6.
struct Exponential {
  RowVec mantissa, exponent;

  HWY_INLINE explicit Exponential(RowVec x) {
    const RowTag d;
    const RowVec magic = hn::Set(d, 12582912.0f);
    exponent = hn::Sub(hn::MulAdd(x, hn::Set(d, 1.44269504f), magic), magic);
    // ln 2 in two parts, the first of 10 bits.
    RowVec r = hn::NegMulAdd(exponent, hn::Set(d, 0.693359375f), x);
    r = hn::MulAdd(exponent, hn::Set(d, 2.12194440e-4f), r);
    // Minimax as in exp_clamped.
    mantissa = hn::MulAdd(r, hn::Set(d, 1.38358015e-3f), hn::Set(d, 8.37564562e-3f));
    for (const float c : {4.16682884e-2f, 1.66664109e-1f, 4.99999911e-1f, 1.0f, 1.0f}) {
      mantissa = hn::MulAdd(mantissa, r, hn::Set(d, c));
    }
  }
};

// Tokens after which sums are normalised: in so many they change by a factor below 2^32.
constexpr int kDrift = 16;

// A factor e^x of each of a vector's channels.
struct Factor {
  float mantissa[kRowLanes], exponent[kRowLanes];

  // Returns how the float mantissa is off: e^x is (1 + what is returned) times the factor.
  double set(size_t lane, double x) {
    const double power = x / std::numbers::ln2, whole = std::round(power);
    const double exact = std::exp2(power - whole);
    mantissa[lane] = static_cast<float>(exact);
    exponent[lane] = static_cast<float>(whole);
    return exact / static_cast<double>(mantissa[lane]) - 1.0;
  }
};

struct Weights {
  Factor fade, own;   // e^-w and e^u
  Factor grow, rest;  // e^w and 1 - e^w, for the published kernel alone
  // The rounding of `fade` would add up over thousands of tokens: what kDrift tokens lack.
  float lack[kRowLanes];
  int64_t tokens, chunk;  // chunk: of the published kernel

  Weights(const float* decay, const float* first, size_t width, int64_t count, bool released)
      : tokens(count), chunk((count + 31) / 32) {
    for (size_t lane = 0; lane < kRowLanes; ++lane) {
      const double w = lane < width ? decay[lane] / static_cast<double>(count) : 0.0;
      const double u = lane < width ? first[lane] / static_cast<double>(count) : 0.0;
      lack[lane] = static_cast<float>(1.0 + kDrift * fade.set(lane, -w));
      own.set(lane, u);
      if (!released) continue;
      grow.set(lane, w);
      // log |1 - e^w|; no matter which where it is 0.
      rest.set(lane, w == 0.0 ? 0.0 : std::max(w, 0.0) + std::log(-std::expm1(-std::fabs(w))));
      rest.mantissa[lane] *= w == 0.0 ? 0.0f : w > 0.0 ? -1.0f : 1.0f;
    }
  }
};

// kParts sums of one exponent. With kTangent the second half of them are the derivatives of the
// first half by w.
template <size_t kParts, bool kTangent>
struct WideSum {
  static constexpr size_t kHalf = kTangent ? kParts / 2 : kParts;
  RowVec part[kParts], exponent;

  // Implicit ones would not be compiled for the target, or copy vectors in pieces.
  HWY_INLINE WideSum() { clear(); }
  HWY_INLINE WideSum(const WideSum& other) { *this = other; }
  HWY_INLINE WideSum& operator=(const WideSum& other) {
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) part[p] = other.part[p];
    exponent = other.exponent;
    return *this;
  }

  HWY_INLINE void clear() {
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) part[p] = hn::Zero(RowTag());
    exponent = hn::Set(RowTag(), kNoExponent);
  }
  // Multiplies by e^{kSlope w}, given as `factor`.
  template <int kSlope>
  HWY_INLINE void scale(const Factor& factor) {
    const RowTag d;
    const RowVec mantissa = hn::LoadU(d, factor.mantissa);
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) {
      if (p >= kHalf) {
        const RowVec value = part[p - kHalf];  // scaled already
        part[p] = hn::Mul(part[p], mantissa);
        part[p] = kSlope > 0 ? hn::Add(part[p], value) : hn::Sub(part[p], value);
      } else {
        part[p] = hn::Mul(part[p], mantissa);
      }
    }
    exponent = hn::Add(exponent, hn::LoadU(d, factor.exponent));
  }
  HWY_INLINE void add(const WideSum& other) {
    const RowVec most = hn::Max(exponent, other.exponent);
    const RowVec mine = power_of_two(hn::Sub(exponent, most));
    const RowVec theirs = power_of_two(hn::Sub(other.exponent, most));
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) {
      part[p] = hn::MulAdd(other.part[p], theirs, hn::Mul(part[p], mine));
    }
    exponent = most;
  }
  // Brings the largest part into [1, 2), then multiplies by `lack`.
  HWY_INLINE void normalise(const float* lack = nullptr) {
    const RowTag d;
    const hn::RebindToSigned<RowTag> di;
    RowVec largest = hn::Abs(part[0]);
#pragma GCC unroll 4
    for (size_t p = 1; p < kHalf; ++p) largest = hn::Max(largest, hn::Abs(part[p]));
    const auto bits = hn::ShiftRight<23>(hn::BitCast(di, largest));
    RowVec factor =
        hn::BitCast(d, hn::ShiftLeft<23>(hn::Sub(hn::Set(di, 254), bits)));  // 2^(127 - bits)
    if (lack != nullptr) factor = hn::Mul(factor, hn::LoadU(d, lack));
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) part[p] = hn::Mul(part[p], factor);
    const auto zero = hn::Eq(largest, hn::Zero(d));
    const RowVec moved = hn::Add(exponent, hn::ConvertTo(d, hn::Sub(bits, hn::Set(di, 127))));
    exponent = hn::IfThenElse(zero, hn::Set(d, kNoExponent), moved);
  }
  HWY_INLINE void store(float* to) const {
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) hn::Store(part[p], RowTag(), to + p * kRowLanes);
    hn::Store(exponent, RowTag(), to + kParts * kRowLanes);
  }
  HWY_INLINE void load(const float* from) {
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) part[p] = hn::Load(RowTag(), from + p * kRowLanes);
    exponent = hn::Load(RowTag(), from + kParts * kRowLanes);
  }
};

// For all t: use(t, sum over i of W(t, i) term_i), with kTransposed of W(i, t) term_i. term(t, sum)
// sets a normalised term and with kTangent its derivatives, which are 0. `far` has room for
// T (kParts + 1) vectors.
template <bool kReleased, bool kTransposed, size_t kParts, bool kTangent, class Term, class Use>
HWY_INLINE void weighted_sums(const Weights& weights, float* far, const Term& term,
                              const Use& use) {
  using Sum = WideSum<kParts, kTangent>;
  constexpr size_t kFloats = (kParts + 1) * kRowLanes;
  const int64_t last = weights.tokens - 1;
  // The tokens on one side of t, from the end of that side on. The other side, where the published
  // kernel has its chunks, follows from its own end.
  Sum side;
  for (int64_t n = 0; n <= last; ++n) {
    const int64_t t = kTransposed ? n : last - n;
    Sum seen = side, own;
    if (kReleased) seen.template scale<-1>(weights.fade);
    seen.store(far + static_cast<size_t>(t) * kFloats);
    term(t, own);
    side.template scale<-1>(weights.fade);
    side.add(own);
    if (n % kDrift == kDrift - 1) side.normalise(weights.lack);
  }
  Sum near, rest, before;  // `before`: the tokens of other chunks
  for (int64_t n = 0; n <= last; ++n) {
    const int64_t t = kTransposed ? last - n : n;
    const int64_t chunk = t / weights.chunk;
    const bool begins = t == chunk * weights.chunk;
    if (kReleased && (kTransposed ? t == last || t + 1 == (chunk + 1) * weights.chunk : begins)) {
      near.template scale<-1>(weights.fade);
      before.add(near);
      before.normalise();
      near.clear();
      rest.clear();
    }
    Sum own, total, other;
    term(t, own);
    total = own;
    total.exponent = hn::Add(own.exponent, hn::LoadU(RowTag(), weights.own.exponent));
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) {
      total.part[p] = hn::Mul(own.part[p], hn::LoadU(RowTag(), weights.own.mantissa));
    }
    other.load(far + static_cast<size_t>(t) * kFloats);
    total.add(other);
    total.add(near);
    if (kReleased) {
      total.add(before);
      if (kTransposed || !begins) {
        rest.template scale<1>(weights.grow);
        rest.add(own);
        rest.normalise();
      }
      if (!begins) {
        // d (1 - e^w) / dw = (1 - e^w) - 1.
        Sum remainder = rest;
        remainder.template scale<1>(weights.rest);
        total.add(remainder);
        if (kTangent) {
          remainder = rest;
#pragma GCC unroll 4
          for (size_t p = 0; p < kParts; ++p) {
            remainder.part[p] =
                p < Sum::kHalf ? hn::Zero(RowTag()) : hn::Neg(rest.part[p - Sum::kHalf]);
          }
          total.add(remainder);
        }
      }
      before.template scale<-1>(weights.fade);
    }
    use(t, total);
    near.template scale<-1>(weights.fade);
    near.add(own);
    if (n % kDrift == kDrift - 1) {
      near.normalise(weights.lack);
      if (kReleased) before.normalise(weights.lack);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_WKV_INL_H_
