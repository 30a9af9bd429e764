#include "vig/kernels/long_conv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/long_conv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"

#ifndef VIG_KERNELS_LONG_CONV_ONCE_
#define VIG_KERNELS_LONG_CONV_ONCE_
namespace vig {
namespace {

// Tokens whose sums are computed together, and tokens that they take at a time: a tap is loaded
// once for up to kTaken of them.
constexpr int64_t kTokens = 8;
constexpr int64_t kTaken = 4;
// Rows of zeros around the taps, for what a group of tokens reads beyond them.
constexpr int64_t kPadding = kTokens + kTaken;

}  // namespace
}  // namespace vig
#endif

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kLanes = static_cast<int64_t>(kRowLanes);
static_assert(kLongConvBlock % kLanes == 0);

// One vector of channels of a block: kTokens sums from token t on. `taps` is the row of distance 0.
HWY_INLINE void convolve_tokens(const float* x, const float* taps, int64_t t, int64_t first,
                                int64_t last, RowVec* sums) {
  const RowTag d;
#pragma GCC unroll 8
  for (int64_t r = 0; r < kTokens; ++r) sums[r] = hn::Zero(d);
  for (int64_t s = first; s < last; s += kTaken) {
    RowVec taken[kTaken];
#pragma GCC unroll 4
    for (int64_t j = 0; j < kTaken; ++j) taken[j] = hn::Load(d, x + (s + j) * kLongConvBlock);
    const float* const row = taps + (t - s) * kLongConvBlock;
    // The tap of distance t - s + n meets token s + j in the sum of token t + n + j. A sum takes
    // token after token, because the distance falls.
#pragma GCC unroll 16
    for (int64_t n = kTokens - 1; n > -kTaken; --n) {
      const RowVec tap = hn::Load(d, row + n * kLongConvBlock);
#pragma GCC unroll 4
      for (int64_t j = 0; j < kTaken; ++j) {
        if (n + j >= 0 && n + j < kTokens) {
          sums[n + j] = hn::MulAdd(tap, taken[j], sums[n + j]);
        }
      }
    }
  }
}

// Stores what a group of tokens has summed up, [rows, kLongConvBlock].
template <class F>
void store_tokens(const float* sums, int64_t rows, int64_t channels, float* out, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for_each_vector(static_cast<size_t>(channels),
                    [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                      const RowVec sum = load(sums + r * kLongConvBlock + i);
                      store(F::value(sum), out + r * stride + i);
                    });
  }
}

void convolve_block(const LongConvArgs& args, const float* x, const float* taps, int64_t channels,
                    float* out) {
  const RowTag d;
  HWY_ALIGN float sums[kTokens * kLongConvBlock];
  for (int64_t t = 0; t < args.tokens; t += kTokens) {
    // The tokens that any of these sums takes, begun at a multiple of kTaken.
    const int64_t first = std::max<int64_t>(0, t - args.past + 1) / kTaken * kTaken;
    const int64_t last = std::min(args.tokens, t + kTokens + args.future);
    for (int64_t lane = 0; lane < channels; lane += kLanes) {
      RowVec group[kTokens];
      convolve_tokens(x + lane, taps + lane, t, first, last, group);
#pragma GCC unroll 8
      for (int64_t r = 0; r < kTokens; ++r) {
        hn::Store(group[r], d, sums + r * kLongConvBlock + lane);
      }
    }
    with_function(args.function, [&](auto function) HWY_ATTR {
      store_tokens<decltype(function)>(sums, std::min(kTokens, args.tokens - t), channels,
                                       out + t * args.out_stride, args.out_stride);
    });
  }
}

}  // namespace

void convolve_long(const LongConvArgs& args) {
  const int64_t block_floats = long_conv_block_floats(args.past, args.future);
  for (int64_t first = 0; first < args.channels; first += kLongConvBlock) {
    const int64_t channels = std::min(kLongConvBlock, args.channels - first);
    // The block's channels one token after the other, filled up with zeros.
    for (int64_t t = 0; t < args.tokens + kTaken; ++t) {
      float* const to = args.scratch + t * kLongConvBlock;
      std::fill_n(to, kLongConvBlock, 0.0f);
      if (t < args.tokens) std::copy_n(args.in + t * args.in_stride + first, channels, to);
    }
    const float* const packed = args.packed + first / kLongConvBlock * block_floats;
    const float* const taps = packed + (kPadding + args.future) * kLongConvBlock;
    convolve_block(args, args.scratch, taps, channels, args.out + first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(convolve_long);

size_t long_conv_packed_floats(int64_t past, int64_t future, int64_t channels) {
  const int64_t blocks = (channels + kLongConvBlock - 1) / kLongConvBlock;
  return static_cast<size_t>(blocks * (past + future + 2 * kPadding) * kLongConvBlock);
}

void long_conv_pack(const LongTaps& taps, int64_t channels, float* packed) {
  std::fill_n(packed, long_conv_packed_floats(taps.past, taps.future, channels), 0.0f);
  for (int64_t first = 0; first < channels; first += kLongConvBlock) {
    const int64_t width = std::min(kLongConvBlock, channels - first);
    float* const block = packed +
                         first / kLongConvBlock * long_conv_block_floats(taps.past, taps.future) +
                         kPadding * kLongConvBlock;
    for (int64_t row = 0; row < taps.past + taps.future; ++row) {
      std::copy_n(taps.rows + row * taps.stride + first, width, block + row * kLongConvBlock);
    }
  }
}

size_t long_conv_floats(int64_t tokens) {
  return static_cast<size_t>((tokens + kTaken) * kLongConvBlock);
}

void long_conv(const LongConvArgs& args) { HWY_DYNAMIC_DISPATCH(convolve_long)(args); }

}  // namespace vig
#endif  // HWY_ONCE
