#include "vig/kernels/gla.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/gla.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

constexpr size_t kLanes = hn::MaxLanes(RowTag());

// Rows come from the caches of whoever projected them, which takes as long as many tokens' work:
// ask for them early, into the second-level cache, which can wait for more lines at once than the
// first.
constexpr int64_t kAhead = 32;  // tokens

template <int kWrite>
HWY_INLINE void prefetch(const float* from, size_t floats) {
  for (size_t i = 0; i < floats; i += 16) __builtin_prefetch(from + i, kWrite, 2);
}

// One token for kVectors vectors of value columns: decays and feeds the state, gives q S.
// Even and odd keys are summed apart to shorten the chain of additions.
template <int kVectors>
HWY_INLINE void token(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k,
                      const float* HWY_RESTRICT alpha, size_t key_dim, const RowVec* v,
                      float* HWY_RESTRICT state, RowVec* o) {
  const RowTag d;
  RowVec sum[2][kVectors];
  for (int j = 0; j < kVectors; ++j) sum[0][j] = sum[1][j] = hn::Zero(d);
  const auto key = [&](size_t i, RowVec* HWY_RESTRICT out) HWY_ATTR {
    const RowVec ai = hn::Set(d, alpha[i]), ki = hn::Set(d, k[i]), qi = hn::Set(d, q[i]);
    float* HWY_RESTRICT row = state + i * kVectors * kLanes;
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) {
      const RowVec s =
          hn::MulAdd(ki, v[j], hn::Mul(ai, hn::Load(d, row + static_cast<size_t>(j) * kLanes)));
      hn::Store(s, d, row + static_cast<size_t>(j) * kLanes);
      out[j] = hn::MulAdd(qi, s, out[j]);
    }
  };
  size_t i = 0;
  for (; i + 2 <= key_dim; i += 2) {
    key(i, sum[0]);
    key(i + 1, sum[1]);
  }
  if (i < key_dim) key(i, sum[0]);
  for (int j = 0; j < kVectors; ++j) o[j] = hn::Add(sum[0][j], sum[1][j]);
}

// Both sweeps for up to kVectors vectors of columns beginning at `column`, `width` of them real.
template <int kVectors>
HWY_NOINLINE void sweep(const GlaArgs& args, size_t column, size_t width) {
  const RowTag d;
  const size_t key_dim = static_cast<size_t>(args.key_dim);
  const bool whole = width == kVectors * kLanes;
  const RowVec scale = hn::Set(d, args.scale);
  const auto load = [&](const float* from, RowVec* to) HWY_ATTR {
    for (int j = 0; j < kVectors; ++j) {
      const size_t at = static_cast<size_t>(j) * kLanes;
      to[j] = whole ? hn::LoadU(d, from + at)
                    : load_part(from + at, width > at ? std::min(kLanes, width - at) : 0);
    }
  };
  const auto store = [&](const RowVec* from, float* to) HWY_ATTR {
    for (int j = 0; j < kVectors; ++j) {
      const size_t at = static_cast<size_t>(j) * kLanes;
      if (whole) {
        hn::StoreU(from[j], d, to + at);
      } else if (width > at) {
        store_part(from[j], to + at, std::min(kLanes, width - at));
      }
    }
  };
  const auto direction = [&](bool backward, const float* alpha, bool add) HWY_ATTR {
    std::fill_n(args.state, key_dim * kVectors * kLanes, 0.0f);
    RowVec v[kVectors], o[kVectors], before[kVectors];
    for (int64_t n = 0; n < args.tokens; ++n) {
      const int64_t t = backward ? args.tokens - 1 - n : n;
      const int64_t row = t * args.qkv_stride;
      const int64_t later = t + (backward ? -kAhead : kAhead);
      if (later >= 0 && later < args.tokens) {
        const int64_t at = later * args.qkv_stride;
        prefetch<0>(args.q + at, key_dim);
        prefetch<0>(args.k + at, key_dim);
        prefetch<0>(args.v + at + static_cast<int64_t>(column), width);
        prefetch<0>(alpha + later * args.alpha_stride, key_dim);
        prefetch<1>(args.o + later * args.o_stride + static_cast<int64_t>(column), width);
      }
      load(args.v + row + static_cast<int64_t>(column), v);
      token<kVectors>(args.q + row, args.k + row, alpha + t * args.alpha_stride, key_dim, v,
                      args.state, o);
      float* out = args.o + t * args.o_stride + static_cast<int64_t>(column);
      if (add) {
        load(out, before);
        for (int j = 0; j < kVectors; ++j) o[j] = hn::MulAdd(scale, o[j], before[j]);
      } else {
        for (int j = 0; j < kVectors; ++j) o[j] = hn::Mul(scale, o[j]);
      }
      store(o, out);
    }
  };
  if (args.alpha_forward != nullptr) direction(false, args.alpha_forward, false);
  if (args.alpha_backward != nullptr) {
    direction(true, args.alpha_backward, args.alpha_forward != nullptr);
  }
}

void scan(const GlaArgs& args) {
  const size_t width = static_cast<size_t>(args.value_dim);
  for (size_t column = 0; column < width;) {
    const size_t rest = width - column;
    if (rest > 2 * kLanes) {
      sweep<4>(args, column, std::min(rest, 4 * kLanes));
      column += 4 * kLanes;
    } else if (rest > kLanes) {
      sweep<2>(args, column, rest);
      column += 2 * kLanes;
    } else {
      sweep<1>(args, column, rest);
      column += kLanes;
    }
  }
}

size_t state_floats(int64_t key_dim) { return static_cast<size_t>(key_dim) * 4 * kLanes; }

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(scan);
HWY_EXPORT(state_floats);

size_t gla_state_floats(int64_t key_dim) { return HWY_DYNAMIC_DISPATCH(state_floats)(key_dim); }

void gla(const GlaArgs& args) { HWY_DYNAMIC_DISPATCH(scan)(args); }

}  // namespace vig
#endif  // HWY_ONCE
