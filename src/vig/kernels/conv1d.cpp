#include "vig/kernels/conv1d.h"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/conv1d.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

// Tokens of the published width that are computed together: a row of the input is loaded once for
// all of them, and the taps stay in registers.
constexpr int64_t kTokens = 4;
constexpr int64_t kWidth = 4;

// One token of any width, with or without all of its rows.
template <class F>
void convolve_token(const Conv1dArgs& args, int64_t n) {
  float* out = args.out.row(n);
  if (out == nullptr) return;
  const int64_t before = args.width - 1;
  for_each_vector(static_cast<size_t>(args.channels), [&](size_t i, const auto& load,
                                                          const auto& store) HWY_ATTR {
    RowVec sum = args.bias == nullptr ? hn::Zero(RowTag()) : load(args.bias + i);
    for (int64_t j = std::max<int64_t>(0, before - n); j < args.width; ++j) {
      const float* in = args.in.row(n - before + j);
      if (in == nullptr) continue;
      sum = hn::MulAdd(load(args.taps + j * args.taps_stride + i), load(in + i), sum);
    }
    store(F::value(sum), out + i);
  });
}

// kTokens tokens of width kWidth from n on, if they have all of their rows. Sums add up in the same
// order as one by one.
template <class F>
bool convolve_tokens(const Conv1dArgs& args, int64_t n) {
  constexpr int64_t kRows = kTokens + kWidth - 1;
  const float* in[kRows];
  float* out[kTokens];
  for (int64_t r = 0; r < kRows; ++r) in[r] = args.in.row(n - (kWidth - 1) + r);
  for (int64_t s = 0; s < kTokens; ++s) out[s] = args.out.row(n + s);
  if (std::count(in, in + kRows, nullptr) + std::count(out, out + kTokens, nullptr) > 0) {
    return false;
  }
  for_each_vector(static_cast<size_t>(args.channels),
                  [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                    RowVec tap[kWidth], sum[kTokens];
#pragma GCC unroll 4
                    for (int64_t j = 0; j < kWidth; ++j) {
                      tap[j] = load(args.taps + j * args.taps_stride + i);
                    }
#pragma GCC unroll 4
                    for (int64_t s = 0; s < kTokens; ++s) {
                      sum[s] = args.bias == nullptr ? hn::Zero(RowTag()) : load(args.bias + i);
                    }
#pragma GCC unroll 8
                    for (int64_t r = 0; r < kRows; ++r) {
                      const RowVec x = load(in[r] + i);
#pragma GCC unroll 4
                      for (int64_t s = 0; s < kTokens; ++s) {
                        if (r >= s && r - s < kWidth) sum[s] = hn::MulAdd(tap[r - s], x, sum[s]);
                      }
                    }
#pragma GCC unroll 4
                    for (int64_t s = 0; s < kTokens; ++s) store(F::value(sum[s]), out[s] + i);
                  });
  return true;
}

template <class F>
void convolve(const Conv1dArgs& args) {
  int64_t n = args.first;
  while (n < args.last) {
    if (args.width == kWidth && n >= kWidth - 1 && n + kTokens <= args.last &&
        convolve_tokens<F>(args, n)) {
      n += kTokens;
    } else {
      convolve_token<F>(args, n++);
    }
  }
}

}  // namespace

void convolve_sequence(const Conv1dArgs& args) {
  with_function(args.function, [&](auto function) HWY_ATTR { convolve<decltype(function)>(args); });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(convolve_sequence);

void conv1d_taps(const float* weight, int64_t channels, int64_t width, float* taps) {
  for (int64_t e = 0; e < channels; ++e) {
    for (int64_t j = 0; j < width; ++j) taps[j * channels + e] = weight[e * width + j];
  }
}

void conv1d(const Conv1dArgs& args) { HWY_DYNAMIC_DISPATCH(convolve_sequence)(args); }

}  // namespace vig
#endif  // HWY_ONCE
