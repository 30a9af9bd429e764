#include "vig/kernels/backward/norm.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/norm.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// As in norm.cpp; besides, the weights' gradients are read and written once for so many rows.
constexpr int kTogether = 4;

template <int kRows>
struct NormBlock {
  const float* in[kRows];
  const float* dy[kRows];
  const float* residual[kRows];
  float* dx[kRows];

  NormBlock(const NormBackwardArgs& args, int64_t first, int64_t at) {
    for (int r = 0; r < kRows; ++r) {
      in[r] = args.in + (first + r) * args.in_stride + at;
      dy[r] = args.dy + (first + r) * args.dy_stride + at;
      residual[r] = args.residual == nullptr
                        ? nullptr
                        : args.residual + (first + r) * args.residual_stride + at;
      dx[r] = args.dx + (first + r) * args.dx_stride + at;
    }
  }
};

template <int kRows>
void layer_block(const NormBackwardArgs& args, int64_t first) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels);
  const float count = static_cast<float>(n);
  const size_t lanes = hn::Lanes(d);
  const NormBlock<kRows> rows(args, first, 0);
  RowVec mean[kRows], square[kRows], sum[kRows], dot[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) mean[r] = square[r] = sum[r] = dot[r] = hn::Zero(d);
  for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) mean[r] = hn::Add(mean[r], load(rows.in[r] + i));
  });
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) mean[r] = hn::Set(d, sum_lanes(mean[r]) / count);
  for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
    const RowVec weight = load(args.weight + i);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      RowVec v = hn::Sub(load(rows.in[r] + i), mean[r]);
      if (n - i < lanes) v = hn::IfThenElseZero(hn::FirstN(d, n - i), v);
      const RowVec g = hn::Mul(load(rows.dy[r] + i), weight);
      square[r] = hn::MulAdd(v, v, square[r]);
      sum[r] = hn::Add(sum[r], g);
      dot[r] = hn::MulAdd(g, v, dot[r]);
    }
  });
  RowVec scale[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const float s = inverse_root(sum_lanes(square[r]), n, args.eps);
    scale[r] = hn::Set(d, s);
    sum[r] = hn::Set(d, sum_lanes(sum[r]) / count);      // mean(g)
    dot[r] = hn::Set(d, sum_lanes(dot[r]) / count * s);  // mean(g * xh)
  }
  for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec weight = load(args.weight + i);
    RowVec dweight = hn::Zero(d), dbias = hn::Zero(d);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const RowVec dy = load(rows.dy[r] + i);
      const RowVec xh = hn::Mul(hn::Sub(load(rows.in[r] + i), mean[r]), scale[r]);
      const RowVec g = hn::MulSub(dy, weight, sum[r]);
      RowVec dx = hn::Mul(hn::NegMulAdd(xh, dot[r], g), scale[r]);
      if (rows.residual[r] != nullptr) dx = hn::Add(dx, load(rows.residual[r] + i));
      store(dx, rows.dx[r] + i);
      dweight = hn::MulAdd(dy, xh, dweight);
      dbias = hn::Add(dbias, dy);
    }
    store(hn::Add(load(args.dweight + i), dweight), args.dweight + i);
    store(hn::Add(load(args.dbias + i), dbias), args.dbias + i);
  });
}

template <int kRows>
void rms_block(const NormBackwardArgs& args, int64_t first) {
  const RowTag d;
  const size_t n = static_cast<size_t>(args.channels / args.groups);
  for (int64_t group = 0; group < args.groups; ++group) {
    const NormBlock<kRows> rows(args, first, group * static_cast<int64_t>(n));
    RowVec square[kRows], dot[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) square[r] = dot[r] = hn::Zero(d);
    for_each_vector(n, [&](size_t i, const auto& load, const auto&) HWY_ATTR {
      const RowVec weight = load(args.weight + i);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const RowVec x = load(rows.in[r] + i);
        square[r] = hn::MulAdd(x, x, square[r]);
        dot[r] = hn::MulAdd(hn::Mul(load(rows.dy[r] + i), weight), x, dot[r]);
      }
    });
    RowVec scale[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float s = inverse_root(sum_lanes(square[r]), n, args.eps);
      scale[r] = hn::Set(d, s);
      dot[r] = hn::Set(d, sum_lanes(dot[r]) / static_cast<float>(n) * s);  // mean(g * xh)
    }
    for_each_vector(n, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
      const RowVec weight = load(args.weight + i);
      RowVec dweight = hn::Zero(d);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const RowVec dy = load(rows.dy[r] + i);
        const RowVec xh = hn::Mul(load(rows.in[r] + i), scale[r]);
        RowVec dx = hn::Mul(hn::NegMulAdd(xh, dot[r], hn::Mul(dy, weight)), scale[r]);
        if (rows.residual[r] != nullptr) dx = hn::Add(dx, load(rows.residual[r] + i));
        store(dx, rows.dx[r] + i);
        dweight = hn::MulAdd(dy, xh, dweight);
      }
      store(hn::Add(load(args.dweight + i), dweight), args.dweight + i);
    });
  }
}

void layer_rows(const NormBackwardArgs& args) {
  int64_t r = 0;
  for (; r + kTogether <= args.rows; r += kTogether) layer_block<kTogether>(args, r);
  for (; r < args.rows; ++r) layer_block<1>(args, r);
}

void rms_rows(const NormBackwardArgs& args) {
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

void layer_norm_backward(const NormBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(layer_rows)(args); }
void rms_norm_backward(const NormBackwardArgs& args) { HWY_DYNAMIC_DISPATCH(rms_rows)(args); }

}  // namespace vig
#endif  // HWY_ONCE
