// Gradients of the long convolution (kernels/long_conv.h) without its function.
//
//   dx[s] = sum over t of w[t - s] dy[t]         the same convolution with the taps turned round
//   dw[d] = sum over t of dy[t] x[t - d]
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/long_conv.h"

namespace vig {

// The taps, one row after the other, that make dx of dy: `rows` holds past + future rows of
// `channels`. Their past is future + 1 and their future is past - 1.
void long_conv_turned_taps(const LongTaps& taps, int64_t channels, float* rows);

struct LongConvTapsArgs {
  int64_t tokens = 0;
  int64_t channels = 0;
  const float* in = nullptr;  // [T, channels]
  int64_t in_stride = 0;
  const float* dy = nullptr;  // [T, channels]
  int64_t dy_stride = 0;
  int64_t past = 0;
  int64_t future = 0;
  float* dtaps = nullptr;  // [past + future, channels], added to
  int64_t dtaps_stride = 0;
  float* scratch = nullptr;  // of long_conv_taps_floats, aligned to 64 bytes
};

size_t long_conv_taps_floats(int64_t tokens);

// Any range of channels gives the same bits.
void long_conv_taps_backward(const LongConvTapsArgs& args);

}  // namespace vig
