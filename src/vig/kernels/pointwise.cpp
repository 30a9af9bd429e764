#include "vig/kernels/pointwise.h"

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
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store)
                           HWY_ATTR { store(f(load(a + i), load(b + i)), out + i); });
  }
}

void map(const PointwiseArgs& args) {
  switch (args.kind) {
    case Pointwise::kSilu:
      return map_rows(args, [](RowVec a, RowVec) HWY_ATTR { return silu(RowTag(), a); });
    case Pointwise::kGelu:
      return map_rows(args, [](RowVec a, RowVec) HWY_ATTR { return gelu(RowTag(), a); });
    case Pointwise::kSigmoid:
      return map_rows(args, [](RowVec a, RowVec) HWY_ATTR { return sigmoid(RowTag(), a); });
    case Pointwise::kDecay:
      return map_rows(args, [](RowVec a, RowVec) HWY_ATTR { return decay(RowTag(), a); });
    case Pointwise::kAdd:
      return map_rows(args, [](RowVec a, RowVec b) HWY_ATTR { return hn::Add(a, b); });
    case Pointwise::kMul:
      return map_rows(args, [](RowVec a, RowVec b) HWY_ATTR { return hn::Mul(a, b); });
    case Pointwise::kSwiGlu:
      return map_rows(args,
                      [](RowVec a, RowVec b) HWY_ATTR { return hn::Mul(silu(RowTag(), a), b); });
  }
}

void mix(const GatedMixArgs& args) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels / args.heads);
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t h = 0; h < args.heads; ++h) {
      const int64_t at = h * static_cast<int64_t>(n);
      const float* gate = args.gate.data + r * args.gate.stride + at;
      const float* o = args.o.data + r * args.o.stride + at;
      const float* local = args.local.data + r * args.local.stride + at;
      float* out = args.out + r * args.out_stride + at;
      const bool o_norm = args.o_weight != nullptr, local_norm = args.local_weight != nullptr;
      const RowVec o_scale = hn::Set(d, o_norm ? rms_scale(o, n, args.eps) : 1.0f);
      const RowVec local_scale = hn::Set(d, local_norm ? rms_scale(local, n, args.eps) : 1.0f);
      for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        const RowVec g = sigmoid(d, load(gate + i));
        RowVec a = hn::Mul(load(o + i), o_scale);
        RowVec b = hn::Mul(load(local + i), local_scale);
        if (o_norm) a = hn::Mul(a, load(args.o_weight + i));
        if (local_norm) b = hn::Mul(b, load(args.local_weight + i));
        RowVec y = hn::MulAdd(g, a, hn::Mul(hn::Sub(hn::Set(d, 1.0f), g), b));
        if (args.silu) y = silu(d, y);
        store(y, out + i);
      });
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
