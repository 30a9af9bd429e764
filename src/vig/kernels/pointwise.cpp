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
    for_each_in_step(n, [&](size_t i, const auto& load, const auto& store)
                            HWY_ATTR { store(f(load(a + i), load(b + i)), out + i); });
  }
}

void map(const PointwiseArgs& args) {
  switch (args.kind) {
    case Pointwise::kSilu:
      return map_rows(args, [](auto a, auto) HWY_ATTR { return silu(a); });
    case Pointwise::kGelu:
      return map_rows(args, [](auto a, auto) HWY_ATTR { return gelu(a); });
    case Pointwise::kSigmoid:
      return map_rows(args, [](auto a, auto) HWY_ATTR { return sigmoid(a); });
    case Pointwise::kDecay:
      return map_rows(args, [](auto a, auto) HWY_ATTR { return decay(a); });
    case Pointwise::kAdd:
      return map_rows(args, [](auto a, auto b) HWY_ATTR { return add(a, b); });
    case Pointwise::kMul:
      return map_rows(args, [](auto a, auto b) HWY_ATTR { return mul(a, b); });
    case Pointwise::kSwiGlu:
      return map_rows(args, [](auto a, auto b) HWY_ATTR { return mul(silu(a), b); });
  }
}

// The norms' factors of all heads of a row come first: their roots and divisions overlap.
void mix(const GatedMixArgs& args) {
  constexpr int64_t kHeadsTogether = 8;
  const size_t n = static_cast<size_t>(args.channels / args.heads);
  const bool o_norm = args.o_weight != nullptr, local_norm = args.local_weight != nullptr;
  const auto scales = [&](const float* x, int64_t count, bool norm, float* to) HWY_ATTR {
    for (int64_t h = 0; h < count; ++h) {
      to[h] = norm ? sum_lanes(squares(x + static_cast<size_t>(h) * n, n)) : 0.0f;
    }
    for (int64_t h = 0; h < count; ++h) to[h] = norm ? inverse_root(to[h], n, args.eps) : 1.0f;
  };
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t first = 0; first < args.heads; first += kHeadsTogether) {
      const int64_t count = std::min(kHeadsTogether, args.heads - first);
      const int64_t at = first * static_cast<int64_t>(n);
      float o_scale[kHeadsTogether], local_scale[kHeadsTogether];
      scales(args.o.data + r * args.o.stride + at, count, o_norm, o_scale);
      scales(args.local.data + r * args.local.stride + at, count, local_norm, local_scale);
      for (int64_t h = 0; h < count; ++h) {
        const int64_t head = at + h * static_cast<int64_t>(n);
        const float* gate = args.gate.data + r * args.gate.stride + head;
        const float* o = args.o.data + r * args.o.stride + head;
        const float* local = args.local.data + r * args.local.stride + head;
        float* out = args.out + r * args.out_stride + head;
        for_each_in_step(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
          const auto g = sigmoid(load(gate + i));
          auto a = mul(load(o + i), o_scale[h]);
          auto b = mul(load(local + i), local_scale[h]);
          if (o_norm) a = mul(a, load(args.o_weight + i));
          if (local_norm) b = mul(b, load(args.local_weight + i));
          store(mul_add(g, a, mul(sub(1.0f, g), b)), out + i);
        });
      }
    }
    // In a pass of its own: two exponentials in one chain are too long to overlap with the next.
    if (args.silu) {
      float* out = args.out + r * args.out_stride;
      for_each_in_step(static_cast<size_t>(args.channels),
                       [&](size_t i, const auto& load, const auto& store)
                           HWY_ATTR { store(silu(load(out + i)), out + i); });
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
