#include "vig/kernels/pointwise.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/pointwise.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"
#include "vig/kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

template <class F>
HWY_INLINE void map_rows(const PointwiseArgs& args, const F& f) {
  const size_t n = static_cast<size_t>(args.channels);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* a = args.a.data + r * args.a.stride;
    const float* b = args.b.data == nullptr ? a : args.b.data + r * args.b.stride;
    float* out = args.out + r * args.out_stride;
    for_each_interleaved(n, [&](size_t i, const auto& load, const auto& store)
                                HWY_ATTR { store(f(load(a + i), load(b + i)), out + i); });
  }
}

void map(const PointwiseArgs& args) {
  with_function(args.kind.function, [&](auto function) HWY_ATTR {
    using F = decltype(function);
    switch (args.kind.combine) {
      case Combine::kNone:
        return map_rows(args, [](auto a, auto) HWY_ATTR { return F::value(a); });
      case Combine::kAdd:
        return map_rows(args, [](auto a, auto b) HWY_ATTR { return add(F::value(a), b); });
      case Combine::kMul:
        return map_rows(args, [](auto a, auto b) HWY_ATTR { return mul(F::value(a), b); });
    }
  });
}

// Heads of rows, one after the other, kHeads at a time: their norms' factors come first, in whole
// vectors, then the mixes, then the SiLUs: two exponentials in one chain would be too long to
// overlap with the next.
void mix(const GatedMixArgs& args) {
  constexpr size_t kHeads = 8;
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels / args.heads);
  const bool o_norm = args.o_weight != nullptr, local_norm = args.local_weight != nullptr;
  const size_t total = static_cast<size_t>(args.rows * args.heads);
  int64_t row = 0, at = 0;
  for (size_t first = 0; first < total; first += kHeads) {
    const size_t count = std::min(kHeads, total - first);
    const float* gate[kHeads];
    const float* o[kHeads];
    const float* local[kHeads];
    float* out[kHeads];
    RowVec squared[2 * kHeads];  // of o, then of local
    for (size_t h = 0; h < kHeads; ++h) {
      squared[h] = squared[kHeads + h] = hn::Zero(d);
      if (h >= count) continue;
      gate[h] = args.gate.data + row * args.gate.stride + at;
      o[h] = args.o.data + row * args.o.stride + at;
      local[h] = args.local.data + row * args.local.stride + at;
      out[h] = args.out + row * args.out_stride + at;
      if (o_norm) squared[h] = squares(o[h], n);
      if (local_norm) squared[kHeads + h] = squares(local[h], n);
      at += static_cast<int64_t>(n);
      if (at == args.channels) at = 0, ++row;
    }
    float scale[2 * kHeads + kRowLanes];
    inverse_roots<2 * kHeads>(squared, n, args.eps, scale);
    if (!o_norm) std::fill_n(scale, kHeads, 1.0f);
    if (!local_norm) std::fill_n(scale + kHeads, kHeads, 1.0f);
    for (size_t h = 0; h < count; ++h) {
      for_each_interleaved(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        const auto g = sigmoid(load(gate[h] + i));
        auto a = mul(load(o[h] + i), scale[h]);
        auto b = mul(load(local[h] + i), scale[kHeads + h]);
        if (o_norm) a = mul(a, load(args.o_weight + i));
        if (local_norm) b = mul(b, load(args.local_weight + i));
        store(mul_add(g, a, mul(sub(1.0f, g), b)), out[h] + i);
      });
    }
    for (size_t h = 0; h < count && args.silu; ++h) {
      for_each_interleaved(n, [&](size_t i, const auto& load, const auto& store)
                                  HWY_ATTR { store(silu(load(out[h] + i)), out[h] + i); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(map);
HWY_EXPORT(mix);

void pointwise(const PointwiseArgs& args) { HWY_DYNAMIC_DISPATCH(map)(args); }
void gated_mix(const GatedMixArgs& args) { HWY_DYNAMIC_DISPATCH(mix)(args); }

}  // namespace vig
#endif  // HWY_ONCE
