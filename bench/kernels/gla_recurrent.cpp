#include "kernels/gla_recurrent.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gla_recurrent.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

constexpr size_t kLanes = hn::MaxLanes(RowTag());

// One key's row of the state: decays, is fed, and gives its part of q S.
template <int kVectors>
HWY_INLINE void one_key(float q, float k, float alpha, const RowVec* v, float* HWY_RESTRICT row,
                        RowVec* HWY_RESTRICT sum) {
  const RowTag d;
  const RowVec ai = hn::Set(d, alpha), ki = hn::Set(d, k), qi = hn::Set(d, q);
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    float* at = row + static_cast<size_t>(j) * kLanes;
    const RowVec s = hn::MulAdd(ki, v[j], hn::Mul(ai, hn::Load(d, at)));
    hn::Store(s, d, at);
    sum[j] = hn::MulAdd(qi, s, sum[j]);
  }
}

// All tokens for kVectors vectors of value columns. Even and odd keys are summed apart to shorten
// the chain of additions.
template <int kVectors>
HWY_NOINLINE void sweep(const GlaArgs& args, int64_t column) {
  const RowTag d;
  const bool backward = args.alpha_forward == nullptr;
  const float* gates = backward ? args.alpha_backward : args.alpha_forward;
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  constexpr size_t kRow = kVectors * kLanes;
  std::fill_n(args.state, key_dim * kRow, 0.0f);
  for (int64_t n = 0; n < args.tokens; ++n) {
    const int64_t t = backward ? args.tokens - 1 - n : n;
    const float* q = args.q + t * args.qkv_stride;
    const float* k = args.k + t * args.qkv_stride;
    const float* alpha = gates + t * args.alpha_stride;
    RowVec v[kVectors], even[kVectors], odd[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      v[j] = hn::LoadU(d, args.v + t * args.qkv_stride + column + j * int64_t{kLanes});
      even[j] = odd[j] = hn::Zero(d);
    }
    size_t i = 0;
    for (; i + 2 <= key_dim; i += 2) {
      one_key<kVectors>(q[i], k[i], alpha[i], v, args.state + i * kRow, even);
      one_key<kVectors>(q[i + 1], k[i + 1], alpha[i + 1], v, args.state + (i + 1) * kRow, odd);
    }
    if (i < key_dim) one_key<kVectors>(q[i], k[i], alpha[i], v, args.state + i * kRow, even);
    for (int j = 0; j < kVectors; ++j) {
      hn::StoreU(hn::Mul(hn::Set(d, args.scale), hn::Add(even[j], odd[j])), d,
                 args.o + t * args.o_stride + column + j * int64_t{kLanes});
    }
  }
}

void recurrent(const GlaArgs& args) {
  const int64_t wide = 4 * int64_t{kLanes}, lanes = int64_t{kLanes};
  int64_t column = 0;
  for (; column + wide <= args.value_dim; column += wide) sweep<4>(args, column);
  for (; column + 2 * lanes <= args.value_dim; column += 2 * lanes) sweep<2>(args, column);
  for (; column + lanes <= args.value_dim; column += lanes) sweep<1>(args, column);
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(recurrent);

namespace bench {

void gla_recurrent(const GlaArgs& args) { HWY_DYNAMIC_DISPATCH(recurrent)(args); }

}  // namespace bench
}  // namespace vig
#endif  // HWY_ONCE
