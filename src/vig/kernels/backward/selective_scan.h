// Gradients of the selective scan (kernels/selective_scan.h), given that of y = C h + D u.
//
// With g_n [E, N] the gradient of the state after token n, and a = exp(dt A):
//   g_n[e, i] = dy_n[e] C_n[i] + a_{n+1}[e, i] g_{n+1}[e, i]
//   dC_n[i] = sum over e of dy_n[e] h_n[e, i],   dB_n[i] = sum over e of dt u g_n[e, i]
//   q = a h_{n-1} g_n, the gradient of dt A
//   d(dt u) = sum over i of B_n[i] g_n[e, i],   d(dt) = u d(dt u) + sum over i of A q
//   du = dt d(dt u) + D dy,   draw = sigmoid(raw + bias) d(dt),   dlog(-A) = sum over n of dt A q
// No gradient is got as a difference of larger ones, and nothing divides by a decay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/selective_scan.h"

namespace vig {

struct SelectiveScanBackwardArgs {
  // The forward call; y, add, scale, gate, resume and state are not used. All channels at once: dB
  // and dC are sums over them.
  SelectiveScanArgs scan;
  Sequence dy;  // [E]; a token without a row has zeros
  // Everything below is added to, in a fixed order: zero it before the first call. A token without
  // a row drops its gradient. None may overlap another or an input.
  MutableSequence du;        // [E]
  MutableSequence draw;      // [E]
  MutableSequence db;        // [N]
  MutableSequence dc;        // [N]
  MutableSequence db_added;  // [N]; null data: not wanted
  float* dbias = nullptr;    // [E]; null: not wanted
  float* da_log = nullptr;   // [N, E], of log(-A)
  int64_t da_log_stride = 0;
  float* dd = nullptr;       // [E]; null: not wanted
  float* scratch = nullptr;  // of selective_scan_backward_floats, aligned to 64 bytes
};

// A state [E, N] every 32 tokens, three more, and some for a vector of channels.
size_t selective_scan_backward_floats(int64_t tokens, int64_t channels, int64_t states);

// Allocates nothing, starts no threads.
void selective_scan_backward(const SelectiveScanBackwardArgs& args);

}  // namespace vig
