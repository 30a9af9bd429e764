// Selective scan (Mamba) of one sequence in one direction.
//
// T tokens in the order of the scan, E channels, N states. With A [E, N] < 0 and token n's rows
//   dt = softplus(raw + bias) [E]
//   h[e, i] = exp(dt[e] A[e, i]) h[e, i] + dt[e] u[e] B[i]      h = 0 before the first token
//   y[e] = sum over i of C[i] h[e, i] + D[e] u[e]
// Channels never meet: any range of them gives the bits of all, so that work may be split over
// images, directions and channels. Nothing divides by a decay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/sequence.h"

namespace vig {

struct SelectiveScanArgs {
  int64_t tokens = 0;
  int64_t channels = 0;
  int64_t states = 0;
  // A token without a row of u, raw, B or C has zeros there: a padding token's state only decays.
  Sequence u;                    // [E]
  Sequence raw;                  // [E]
  Sequence b;                    // [N]
  Sequence c;                    // [N]
  Sequence b_added;              // [N], added to B; null data: nothing
  const float* bias = nullptr;   // [E]; null: none
  const float* rates = nullptr;  // A / ln 2 as [N, E], made by selective_scan_rates
  int64_t rates_stride = 0;      // between its rows; at least E
  const float* d = nullptr;      // [E]; null: no such term
  // The sequence in parts: the state that the call for the tokens before left in `state` is the
  // first. Any parts give the bits of the whole.
  bool resume = false;
  // What is stored is scale * y, scale * (y + what is there), or that times silu(gate). A token
  // without a row stores nothing. y may be the rows of u, raw or gate in the same order.
  MutableSequence y;
  bool add = false;
  float scale = 1.0f;
  Sequence gate;           // [E]; null data: none
  float* state = nullptr;  // scratch of selective_scan_state_floats, aligned to 64 bytes
};

size_t selective_scan_state_floats(int64_t channels, int64_t states);

// From the published logarithms of -A [E, N].
void selective_scan_rates(const float* a_log, int64_t channels, int64_t states, float* rates);

// Allocates nothing, starts no threads.
void selective_scan(const SelectiveScanArgs& args);

}  // namespace vig
