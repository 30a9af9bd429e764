#include "vig/kernels/backward/conv1d.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/conv1d.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// One vector of channels, from the last token to the first. A token's s is what it and the W - 1
// tokens after it leave to its dx. kWidth 0: any width.
template <class F, int64_t kWidth, class Load, class Store>
HWY_INLINE void convolve_back(const Conv1dBackwardArgs& args, size_t i, const Load& load,
                              const Store& store) {
  const RowTag d;
  const Conv1dArgs& conv = args.conv;
  const int64_t width = kWidth == 0 ? conv.width : kWidth;
  constexpr int64_t kRoom = kWidth == 0 ? kMostConv1dTaps : kWidth;
  RowVec tap[kRoom], dtap[kRoom], s[kRoom], x[kRoom];
  RowVec dbias = hn::Zero(d);
  const auto input = [&](int64_t n) HWY_ATTR {
    const float* row = n < 0 ? nullptr : conv.in.row(n);
    return row == nullptr ? hn::Zero(d) : load(row + i);
  };
#pragma GCC unroll 16
  for (int64_t j = 0; j < kRoom; ++j) {
    tap[j] = dtap[j] = s[j] = x[j] = hn::Zero(d);
    if (j >= width) continue;
    tap[j] = load(conv.taps + j * conv.taps_stride + i);
    x[j] = input(conv.last - width + j);  // what tap j meets at the last token
  }
  const RowVec bias = conv.bias == nullptr ? hn::Zero(d) : load(conv.bias + i);
  for (int64_t n = conv.last - 1; n >= 0; --n) {
    RowVec sum = bias;
#pragma GCC unroll 16
    for (int64_t j = 0; j < width; ++j) sum = hn::MulAdd(tap[j], x[j], sum);
      // s[j] is that of the token where tap j meets this one.
#pragma GCC unroll 16
    for (int64_t j = 0; j + 1 < width; ++j) s[j] = s[j + 1];
    const float* dy = args.dy.row(n);
    s[width - 1] = dy == nullptr ? hn::Zero(d) : hn::Mul(load(dy + i), F::slope(sum));
    dbias = hn::Add(dbias, s[width - 1]);
    RowVec dx = hn::Zero(d);
#pragma GCC unroll 16
    for (int64_t j = 0; j < width; ++j) {
      dtap[j] = hn::MulAdd(s[width - 1], x[j], dtap[j]);
      dx = hn::MulAdd(tap[j], s[j], dx);
    }
    float* to = args.dx.row(n);
    if (to != nullptr) store(hn::Add(load(to + i), dx), to + i);
#pragma GCC unroll 16
    for (int64_t j = width - 1; j > 0; --j) x[j] = x[j - 1];
    x[0] = input(n - width);
  }
#pragma GCC unroll 16
  for (int64_t j = 0; j < width; ++j) {
    float* to = args.dtaps + j * args.dtaps_stride + i;
    store(hn::Add(load(to), dtap[j]), to);
  }
  if (args.dbias != nullptr) store(hn::Add(load(args.dbias + i), dbias), args.dbias + i);
}

}  // namespace

void convolve_sequence_back(const Conv1dBackwardArgs& args) {
  with_function(args.conv.function, [&](auto function) HWY_ATTR {
    using F = decltype(function);
    for_each_vector(static_cast<size_t>(args.conv.channels),
                    [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                      args.conv.width == 4 ? convolve_back<F, 4>(args, i, load, store)
                                           : convolve_back<F, 0>(args, i, load, store);
                    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(convolve_sequence_back);

void conv1d_backward(const Conv1dBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(convolve_sequence_back)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
