// Token shift of VRWKV with mixing: a quarter of the channels sees each neighbour.
//
// A grid of H x W tokens of C channels. Channels [g C / 4, (g + 1) C / 4) of s(x) are those of the
// neighbour on the left, right, above and below for g = 0..3; outside the grid 0. For each of up to
// kMostMixes vectors m:
//   out = x m + s(x) (1 - m)
#pragma once

#include <cstdint>

namespace vig {

inline constexpr int kMostMixes = 3;

struct QShiftArgs {
  const float* in = nullptr;  // the whole grid
  int64_t in_stride = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t first_row = 0;  // tokens to compute
  int64_t last_row = 0;
  int mixes = 0;
  const float* mix[kMostMixes] = {};  // [C]
  float* out[kMostMixes] = {};        // the first of the tokens; may not overlap `in`
  int64_t out_stride = 0;
};

void q_shift_mix(const QShiftArgs& args);

// Its gradients. dx = sum of dout m + s^T(sum of dout (1 - m)), where s^T takes from the opposite
// neighbours; dmix += sum over tokens of dout (x - s(x)).
struct QShiftBackwardArgs {
  const float* in = nullptr;  // as above; null: no dmix is wanted
  int64_t in_stride = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t first_row = 0;  // tokens of which dx is computed and over which dmix sums
  int64_t last_row = 0;
  int mixes = 0;
  const float* mix[kMostMixes] = {};
  const float* dout[kMostMixes] = {};  // the whole grid
  int64_t dout_stride = 0;
  float* dx = nullptr;  // the first of the tokens, overwritten
  int64_t dx_stride = 0;
  float* dmix[kMostMixes] = {};  // [C], added to: zero them before the first call
};

void q_shift_mix_backward(const QShiftBackwardArgs& args);

}  // namespace vig
