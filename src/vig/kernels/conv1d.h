// Causal depthwise convolution along a sequence, then a function of the sums.
//
// With W taps and x_n = 0 before the first token:
//   y_n[e] = f(bias[e] + sum over j < W of taps[j, e] x_{n - (W - 1) + j}[e])
// Orders are those of the sequences: with negative strides it runs backward, each result at the
// position of its token. Channels never meet, and each result is one chain of additions begun with
// the bias, so that any ranges of tokens and channels give the same bits.
#pragma once

#include <cstdint>

#include "vig/base/elementwise.h"
#include "vig/kernels/sequence.h"

namespace vig {

struct Conv1dArgs {
  int64_t channels = 0;
  int64_t width = 4;            // W
  Sequence in;                  // a token without a row has zeros
  const float* taps = nullptr;  // [W, E], made by conv1d_taps
  int64_t taps_stride = 0;      // between its rows
  const float* bias = nullptr;  // [E]; null: none
  Elementwise function = Elementwise::kIdentity;
  int64_t first = 0;  // tokens to compute; those before them are read
  int64_t last = 0;
  MutableSequence out;  // a token without a row stores nothing; may not overlap `in`
};

// From the published [channels, 1, width].
void conv1d_taps(const float* weight, int64_t channels, int64_t width, float* taps);

void conv1d(const Conv1dArgs& args);

}  // namespace vig
