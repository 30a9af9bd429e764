#include "vig/kernels/backward/long_conv.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/long_conv.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

#ifndef VIG_KERNELS_LONG_CONV_BACKWARD_ONCE_
#define VIG_KERNELS_LONG_CONV_BACKWARD_ONCE_
namespace vig {
namespace {

// Distances whose sums are computed together, and tokens that they take at a time.
constexpr int64_t kDistances = 8;
constexpr int64_t kTaken = 4;
// Rows of zeros before and behind the copies of x and dy.
constexpr int64_t kAround = kDistances + kTaken;

}  // namespace
}  // namespace vig
#endif

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kLanes = static_cast<int64_t>(kRowLanes);

// Sums of distances [distance, distance + kDistances) of one vector of channels. x and dy are the
// rows of token 0.
HWY_INLINE void sum_distances(const float* x, const float* dy, int64_t tokens, int64_t distance,
                              RowVec* sums) {
  const RowTag d;
#pragma GCC unroll 8
  for (int64_t r = 0; r < kDistances; ++r) sums[r] = hn::Zero(d);
  // Tokens t for which some t - distance - r is a token.
  const int64_t first = std::max<int64_t>(0, distance);
  const int64_t last = std::min(tokens, tokens + distance + kDistances - 1);
  for (int64_t t = first; t < last; t += kTaken) {
    RowVec slope[kTaken];
#pragma GCC unroll 4
    for (int64_t j = 0; j < kTaken; ++j) slope[j] = hn::Load(d, dy + (t + j) * kLongConvBlock);
    const float* const row = x + (t - distance) * kLongConvBlock;
    // Token t - distance + n meets dy of token t + j in the sum of distance + j - n. A sum takes
    // token after token, because n rises.
#pragma GCC unroll 16
    for (int64_t n = 1 - kDistances; n < kTaken; ++n) {
      const RowVec value = hn::Load(d, row + n * kLongConvBlock);
#pragma GCC unroll 4
      for (int64_t j = 0; j < kTaken; ++j) {
        if (j - n >= 0 && j - n < kDistances) {
          sums[j - n] = hn::MulAdd(slope[j], value, sums[j - n]);
        }
      }
    }
  }
}

// A block's channels one token after the other, filled up with zeros and with zeros around them.
void copy_block(const float* from, int64_t stride, int64_t tokens, int64_t channels, float* to) {
  std::fill_n(to, (tokens + 2 * kAround) * kLongConvBlock, 0.0f);
  for (int64_t t = 0; t < tokens; ++t) {
    std::copy_n(from + t * stride, channels, to + (kAround + t) * kLongConvBlock);
  }
}

}  // namespace

void sum_taps(const LongConvTapsArgs& args) {
  const RowTag d;
  float* const x = args.scratch;
  float* const dy = x + (args.tokens + 2 * kAround) * kLongConvBlock;
  HWY_ALIGN float sums[kDistances * kLongConvBlock];
  for (int64_t first = 0; first < args.channels; first += kLongConvBlock) {
    const int64_t channels = std::min(kLongConvBlock, args.channels - first);
    copy_block(args.in + first, args.in_stride, args.tokens, channels, x);
    copy_block(args.dy + first, args.dy_stride, args.tokens, channels, dy);
    // Distances at which two tokens are.
    const int64_t begin = -std::min(args.future, args.tokens - 1);
    const int64_t end = std::min(args.past, args.tokens);
    for (int64_t distance = begin; distance < end; distance += kDistances) {
      for (int64_t lane = 0; lane < channels; lane += kLanes) {
        RowVec group[kDistances];
        sum_distances(x + kAround * kLongConvBlock + lane, dy + kAround * kLongConvBlock + lane,
                      args.tokens, distance, group);
#pragma GCC unroll 8
        for (int64_t r = 0; r < kDistances; ++r) {
          hn::Store(group[r], d, sums + r * kLongConvBlock + lane);
        }
      }
      for (int64_t r = 0; r < std::min(kDistances, end - distance); ++r) {
        float* const to = args.dtaps + (args.future + distance + r) * args.dtaps_stride + first;
        for_each_vector(static_cast<size_t>(channels),
                        [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
                          const RowVec sum = load(sums + r * kLongConvBlock + i);
                          store(hn::Add(load(to + i), sum), to + i);
                        });
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(sum_taps);

void long_conv_turned_taps(const LongTaps& taps, int64_t channels, float* rows) {
  for (int64_t row = taps.past + taps.future - 1; row >= 0; --row) {
    rows = std::copy_n(taps.rows + row * taps.stride, channels, rows);
  }
}

size_t long_conv_taps_floats(int64_t tokens) {
  return static_cast<size_t>(2 * (tokens + 2 * kAround) * kLongConvBlock);
}

void long_conv_taps_backward(const LongConvTapsArgs& args) { HWY_DYNAMIC_DISPATCH(sum_taps)(args); }

}  // namespace vig
#endif  // HWY_ONCE
