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

// Rows are worked on kTogether at a time, so that one row's square root and division run under the
// sums of the others.
constexpr int kTogether = 4;

template <int kRows>
void layer_block(const NormArgs& args, int64_t first) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels);
  const size_t lanes = hn::Lanes(d);
  const float* in[kRows];
  float* out[kRows];
  RowVec mean[kRows], scale[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    in[r] = args.in + (first + r) * args.in_stride;
    out[r] = args.out + (first + r) * args.out_stride;
    mean[r] = scale[r] = hn::Zero(d);
  }
  for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) mean[r] = hn::Add(mean[r], load(in[r] + i));
  });
  float sums[kRows + kRowLanes];
  sum_each<kRows>(mean, sums);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) mean[r] = hn::Set(d, sums[r] / static_cast<float>(n));
  // The variance in a pass of its own: E[x^2] - mean^2 would cancel.
  for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      RowVec v = hn::Sub(load(in[r] + i), mean[r]);
      if (n - i < lanes) v = hn::IfThenElseZero(hn::FirstN(d, n - i), v);
      scale[r] = hn::MulAdd(v, v, scale[r]);
    }
  });
  inverse_roots<kRows>(scale, n, args.eps, sums);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) scale[r] = hn::Set(d, sums[r]);
  for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec weight = load(args.weight + i), bias = load(args.bias + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const RowVec v = hn::Mul(hn::Sub(load(in[r] + i), mean[r]), scale[r]);
      store(hn::MulAdd(v, weight, bias), out[r] + i);
    }
  });
}

template <int kRows>
void rms_block(const NormArgs& args, int64_t first) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels / args.groups);
  for (int64_t g = 0; g < args.groups; ++g) {
    const int64_t at = g * static_cast<int64_t>(n);
    const float* in[kRows];
    float* out[kRows];
    RowVec scale[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      in[r] = args.in + (first + r) * args.in_stride + at;
      out[r] = args.out + (first + r) * args.out_stride + at;
      scale[r] = hn::Zero(d);
    }
    for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const RowVec v = load(in[r] + i);
        scale[r] = hn::MulAdd(v, v, scale[r]);
      }
    });
    float sums[kRows + kRowLanes];
    inverse_roots<kRows>(scale, n, args.eps, sums);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) scale[r] = hn::Set(d, sums[r]);
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
      const RowVec weight = load(args.weight + i);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        store(hn::Mul(hn::Mul(load(in[r] + i), scale[r]), weight), out[r] + i);
      }
    });
  }
}

void layer_rows(const NormArgs& args) {
  int64_t r = 0;
  for (; r + kTogether <= args.rows; r += kTogether) layer_block<kTogether>(args, r);
  for (; r < args.rows; ++r) layer_block<1>(args, r);
}

void rms_rows(const NormArgs& args) {
  int64_t r = 0;
  for (; r + kTogether <= args.rows; r += kTogether) rms_block<kTogether>(args, r);
  for (; r < args.rows; ++r) rms_block<1>(args, r);
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
