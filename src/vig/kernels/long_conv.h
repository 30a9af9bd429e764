// Long depthwise convolution over a sequence, in both directions, then a function of the sums.
//
// T tokens, taps for `past` tokens (the token itself and those before it) and `future` tokens
// behind it. With w[d] the tap of distance d = t - s, -future <= d < past,
//   y[t, e] = f(sum over s of w[t - s, e] x[s, e])
// Channels never meet, and each result is one chain of fused multiply-adds over s in rising order,
// so that any range of blocks of channels gives the same bits. The direct form: T taps for each
// token are T multiply-adds, and the few tokens of a backbone are too few for a transform. A token
// that is not finite may spoil results a few tokens beyond its reach.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/base/elementwise.h"

namespace vig {

// Taps of one convolution: `past + future` rows [channels] by rising distance, the farthest token
// ahead first.
struct LongTaps {
  const float* rows = nullptr;
  int64_t stride = 0;  // between rows
  int64_t past = 0;    // at least 1
  int64_t future = 0;
};

// Channels of a block of packed taps.
inline constexpr int64_t kLongConvBlock = 16;

// Packed taps lie block by block, [rows + padding, kLongConvBlock] each, so that a block's are
// consecutive in memory.
size_t long_conv_packed_floats(int64_t past, int64_t future, int64_t channels);
inline int64_t long_conv_block_floats(int64_t past, int64_t future) {
  return static_cast<int64_t>(long_conv_packed_floats(past, future, kLongConvBlock));
}
void long_conv_pack(const LongTaps& taps, int64_t channels, float* packed);

struct LongConvArgs {
  int64_t tokens = 0;
  int64_t channels = 0;       // from the beginning of a block on
  const float* in = nullptr;  // [T, channels]
  int64_t in_stride = 0;
  const float* packed = nullptr;  // of the first of these channels
  int64_t past = 0;
  int64_t future = 0;
  Elementwise function = Elementwise::kIdentity;
  float* out = nullptr;  // [T, channels]; may not overlap `in`
  int64_t out_stride = 0;
  float* scratch = nullptr;  // of long_conv_floats, aligned to 64 bytes
};

size_t long_conv_floats(int64_t tokens);

// Allocates nothing, starts no threads.
void long_conv(const LongConvArgs& args);

}  // namespace vig
