// Gradients of the causal convolution (kernels/conv1d.h). Its sums are computed again.
//
// With c_n the sums and s_n = dy_n f'(c_n):
//   dx_n = sum over j of taps[j] s_{n + (W - 1) - j},   dtaps[j] = sum over n of s_n x_{n-(W-1)+j},
//   dbias = sum over n of s_n
#pragma once

#include <cstdint>

#include "vig/kernels/conv1d.h"

namespace vig {

// Taps; wider ones have no gradient.
inline constexpr int64_t kMostConv1dTaps = 16;

struct Conv1dBackwardArgs {
  Conv1dArgs conv;  // the forward call for all tokens; `out` is not used, `first` is 0
  Sequence dy;      // a token without a row has zeros
  // Everything is added to, in a fixed order: zero it before the first call. A token without a row
  // drops its gradient.
  MutableSequence dx;
  float* dtaps = nullptr;  // [W, E]
  int64_t dtaps_stride = 0;
  float* dbias = nullptr;  // [E]; null: not wanted
};

// Any range of channels gives the same bits.
void conv1d_backward(const Conv1dBackwardArgs& args);

}  // namespace vig
