// Bidirectional WKV of VRWKV: each channel of a token is a weighted mean of the values of all.
//
// T tokens, C channels; w = decay / T, u = first / T. Per channel:
//   y_t = sum over i of W(t, i) e^{k_i} v_i / sum over i of W(t, i) e^{k_i}
//   W(t, t) = e^u,  W(t, i) = e^{-(|t - i| - 1) w} otherwise
// (The published formula adds 1e-6 of the largest weight to the lower sum, to no effect.) Sums
// carry an exponent of their own, so that neither keys nor decays of any size overflow or vanish.
//
// The published checkpoints were trained with a kernel that computes something else. With s =
// ceil(T / 32) and t0 = s floor(t / s), its W(t, i) is
//   e^{-(t - i) w} for i < t0,  e^{-(t - 1 - i) w} for t0 <= i < t,  e^{-(i - t) w} for i > t,
//   and for t0 < i <= t another e^{(t - i) w} (1 - e^w).
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

struct WkvArgs {
  int64_t tokens = 0;
  int64_t channels = 0;  // any range of them gives the same bits
  const float* k = nullptr;
  int64_t k_stride = 0;
  const float* v = nullptr;
  int64_t v_stride = 0;
  const float* decay = nullptr;  // [C]
  const float* first = nullptr;  // [C]
  bool released = false;         // the published kernel's weights
  const float* gate = nullptr;   // y is multiplied by sigmoid(gate); null: by nothing
  int64_t gate_stride = 0;
  float* y = nullptr;  // may be k, v or gate
  int64_t y_stride = 0;
  float* scratch = nullptr;  // of wkv_scratch_floats, aligned to 64 bytes
};

// A vector of channels at a time is worked on.
size_t wkv_scratch_floats(int64_t tokens);

// Keys must lie within +-10^6. Allocates nothing, starts no threads.
void wkv(const WkvArgs& args);

}  // namespace vig
