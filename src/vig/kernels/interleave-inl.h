// Arithmetic on several vectors side by side, for kernels to inline. Per-target header.
#if defined(VIG_KERNELS_INTERLEAVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VIG_KERNELS_INTERLEAVE_INL_H_
#undef VIG_KERNELS_INTERLEAVE_INL_H_
#else
#define VIG_KERNELS_INTERLEAVE_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// Two vectors whose computations are interleaved. The formulas of math-inl.h are chains of up to
// thirty dependent operations, and a processor overlaps no more than about four chains, so
// interleaving the operations of several vectors keeps it busy. A VectorPair of pairs is four
// vectors.
template <class P>
struct VectorPair {
  P low, high;
};
template <class P>
constexpr bool kIsPair = false;
template <class P>
constexpr bool kIsPair<VectorPair<P>> = true;

template <class P>
HWY_INLINE P low(const VectorPair<P>& x) {
  return x.low;
}
template <class P>
HWY_INLINE P high(const VectorPair<P>& x) {
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
HWY_INLINE auto interleave(const F& f, P... x) {
  if constexpr ((kIsPair<P> || ...)) {
    const auto first = interleave(f, low(x)...);
    const auto second = interleave(f, high(x)...);
    return VectorPair<std::remove_const_t<decltype(first)>>{first, second};
  } else {
    return f(vector_of(x)...);
  }
}

template <class A, class B>
HWY_INLINE auto add(A a, B b) {
  return interleave([](RowVec x, RowVec y) HWY_ATTR { return hn::Add(x, y); }, a, b);
}
template <class A, class B>
HWY_INLINE auto sub(A a, B b) {
  return interleave([](RowVec x, RowVec y) HWY_ATTR { return hn::Sub(x, y); }, a, b);
}
template <class A, class B>
HWY_INLINE auto mul(A a, B b) {
  return interleave([](RowVec x, RowVec y) HWY_ATTR { return hn::Mul(x, y); }, a, b);
}
// a b + c
template <class A, class B, class C>
HWY_INLINE auto mul_add(A a, B b, C c) {
  return interleave([](RowVec x, RowVec y, RowVec z) HWY_ATTR { return hn::MulAdd(x, y, z); }, a, b,
                    c);
}
// c - a b
template <class A, class B, class C>
HWY_INLINE auto neg_mul_add(A a, B b, C c) {
  return interleave([](RowVec x, RowVec y, RowVec z) HWY_ATTR { return hn::NegMulAdd(x, y, z); }, a,
                    b, c);
}
template <class P>
HWY_INLINE P clamp(P a, float least, float most) {
  const P bounded = interleave([](RowVec x, RowVec y) HWY_ATTR { return hn::Min(x, y); }, a, most);
  return interleave([](RowVec x, RowVec y) HWY_ATTR { return hn::Max(x, y); }, bounded, least);
}
template <class P>
HWY_INLINE P absolute(P a) {
  return interleave([](RowVec x) HWY_ATTR { return hn::Abs(x); }, a);
}
// x < 0 ? yes : no
template <class P, class A, class B>
HWY_INLINE P if_negative(P x, A yes, B no) {
  return interleave([](RowVec v, RowVec a, RowVec b)
                        HWY_ATTR { return hn::IfThenElse(hn::Lt(v, hn::Zero(RowTag())), a, b); },
                    x, yes, no);
}

// Four vectors of a row, or of four rows that are `stride` floats apart.
using Four = VectorPair<VectorPair<RowVec>>;
HWY_INLINE Four load_four(const float* p, size_t stride = kRowLanes) {
  const RowTag d;
  return {{hn::LoadU(d, p), hn::LoadU(d, p + stride)},
          {hn::LoadU(d, p + 2 * stride), hn::LoadU(d, p + 3 * stride)}};
}
HWY_INLINE void store_pair(const VectorPair<RowVec>& v, float* p, size_t stride = kRowLanes) {
  hn::StoreU(v.low, RowTag(), p);
  hn::StoreU(v.high, RowTag(), p + stride);
}
HWY_INLINE void store_four(const Four& v, float* p, size_t stride = kRowLanes) {
  store_pair(v.low, p, stride);
  store_pair(v.high, p + 2 * stride, stride);
}

// for_each_vector, interleaved: what load gives and store takes is four vectors as long as there
// are so many, then two, then one.
template <class F>
HWY_INLINE void for_each_interleaved(size_t n, const F& f) {
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
          return VectorPair<RowVec>{hn::LoadU(d, p), hn::LoadU(d, p + kRowLanes)};
        },
        [](const VectorPair<RowVec>& v, float* p) HWY_ATTR { store_pair(v, p); });
    i += 2 * kRowLanes;
  }
  for_each_vector(n - i, [&](size_t j, const auto& load, const auto& store)
                             HWY_ATTR { f(i + j, load, store); });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#endif  // VIG_KERNELS_INTERLEAVE_INL_H_
