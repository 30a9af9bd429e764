#include "vig/kernels/norm.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void layer_rows(const NormArgs& args) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels);
  const size_t lanes = hn::Lanes(d);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* in = args.in + r * args.in_stride;
    float* out = args.out + r * args.out_stride;
    RowVec sum = hn::Zero(d);
    for_each_vector(n, [&](size_t i, const auto& load, const auto&)
                           HWY_ATTR { sum = hn::Add(sum, load(in + i)); });
    const float mean = sum_lanes(sum) / static_cast<float>(n);
    // The variance in a pass of its own: E[x^2] - mean^2 would cancel.
    const RowVec mean_v = hn::Set(d, mean);
    RowVec squares = hn::Zero(d);
    for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
      RowVec v = hn::Sub(load(in + i), mean_v);
      if (n - i < lanes) v = hn::IfThenElseZero(hn::FirstN(d, n - i), v);
      squares = hn::MulAdd(v, v, squares);
    });
    const float scale = 1.0f / std::sqrt(sum_lanes(squares) / static_cast<float>(n) + args.eps);
    const RowVec scale_v = hn::Set(d, scale);
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
      const RowVec v = hn::Mul(hn::Sub(load(in + i), mean_v), scale_v);
      store(hn::MulAdd(v, load(args.weight + i), load(args.bias + i)), out + i);
    });
  }
}

void rms_rows(const NormArgs& args) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels / args.groups);
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t g = 0; g < args.groups; ++g) {
      const float* in = args.in + r * args.in_stride + g * static_cast<int64_t>(n);
      float* out = args.out + r * args.out_stride + g * static_cast<int64_t>(n);
      const RowVec scale = hn::Set(d, rms_scale(in, n, args.eps));
      for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        store(hn::Mul(hn::Mul(load(in + i), scale), load(args.weight + i)), out + i);
      });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(layer_rows);
HWY_EXPORT(rms_rows);

void layer_norm(const NormArgs& args) { HWY_DYNAMIC_DISPATCH(layer_rows)(args); }
void rms_norm(const NormArgs& args) { HWY_DYNAMIC_DISPATCH(rms_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
