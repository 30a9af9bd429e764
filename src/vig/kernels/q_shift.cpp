#include "vig/kernels/q_shift.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/q_shift.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Calls f(first channel, number of channels, token of the neighbour or -1) for the four groups of
// token t. `sign` -1: the opposite neighbours.
template <class Args, class F>
HWY_INLINE void for_each_group(const Args& args, int64_t t, int64_t sign, const F& f) {
  constexpr int64_t kDown[] = {0, 0, -1, 1}, kRight[] = {-1, 1, 0, 0};
  const int64_t y = t / args.width, x = t % args.width;
  for (int64_t g = 0; g < 4; ++g) {
    const int64_t begin = g * args.channels / 4, end = (g + 1) * args.channels / 4;
    const int64_t ny = y + sign * kDown[g], nx = x + sign * kRight[g];
    const bool inside = ny >= 0 && ny < args.height && nx >= 0 && nx < args.width;
    f(begin, static_cast<size_t>(end - begin), inside ? ny * args.width + nx : -1);
  }
}

}  // namespace

void shift_rows(const QShiftArgs& args) {
  for (int64_t t = args.first_row; t < args.last_row; ++t) {
    for_each_group(args, t, 1, [&](int64_t begin, size_t count, int64_t neighbour) HWY_ATTR {
      const float* x_row = args.in + t * args.in_stride + begin;
      const float* s_row = neighbour < 0 ? nullptr : args.in + neighbour * args.in_stride + begin;
      const int64_t to = (t - args.first_row) * args.out_stride + begin;
      for_each_vector(count, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        const RowVec x = load(x_row + i);
        const RowVec s = s_row == nullptr ? hn::Zero(RowTag()) : load(s_row + i);
        for (int n = 0; n < args.mixes; ++n) {
          const RowVec m = load(args.mix[n] + begin + i);
          store(hn::MulAdd(x, m, hn::NegMulAdd(s, m, s)), args.out[n] + to + i);
        }
      });
    });
  }
}

void shift_rows_back(const QShiftBackwardArgs& args) {
  const RowTag d;
  for (int64_t t = args.first_row; t < args.last_row; ++t) {
    for_each_group(args, t, -1, [&](int64_t begin, size_t count, int64_t neighbour) HWY_ATTR {
      float* dx = args.dx + (t - args.first_row) * args.dx_stride + begin;
      for_each_vector(count, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        RowVec sum = hn::Zero(d);
        for (int n = 0; n < args.mixes; ++n) {
          const RowVec m = load(args.mix[n] + begin + i);
          sum = hn::MulAdd(load(args.dout[n] + t * args.dout_stride + begin + i), m, sum);
          if (neighbour < 0) continue;
          const RowVec shifted = load(args.dout[n] + neighbour * args.dout_stride + begin + i);
          sum = hn::Add(sum, hn::NegMulAdd(shifted, m, shifted));
        }
        store(sum, dx + i);
      });
    });
    if (args.in == nullptr) continue;
    for_each_group(args, t, 1, [&](int64_t begin, size_t count, int64_t neighbour) HWY_ATTR {
      const float* x_row = args.in + t * args.in_stride + begin;
      const float* s_row = neighbour < 0 ? nullptr : args.in + neighbour * args.in_stride + begin;
      for_each_vector(count, [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
        const RowVec x = load(x_row + i);
        const RowVec s = s_row == nullptr ? hn::Zero(d) : load(s_row + i);
        for (int n = 0; n < args.mixes; ++n) {
          const RowVec dout = load(args.dout[n] + t * args.dout_stride + begin + i);
          float* dmix = args.dmix[n] + begin + i;
          store(hn::MulAdd(dout, hn::Sub(x, s), load(dmix)), dmix);
        }
      });
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(shift_rows);
HWY_EXPORT(shift_rows_back);

void q_shift_mix(const QShiftArgs& args) { HWY_DYNAMIC_DISPATCH(shift_rows)(args); }
void q_shift_mix_backward(const QShiftBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(shift_rows_back)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
