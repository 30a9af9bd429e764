// Gated linear attention of one head over a whole sequence, one direction or both.
//
// T tokens, K key width, V value width. With alpha_t in (0, 1] [K], forward:
//   S_t = diag(alpha_t) S_{t-1} + k_t^T v_t   [K, V],   o_t = q_t S_t
// backward the same from the last token; both include token t itself. The result is
// scale * o_forward, scale * o_backward or scale * (o_forward + o_backward). Nothing divides by a
// decay, so gates near 0 are as exact as gates near 1. See docs/gla.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

struct GlaArgs {
  int64_t tokens = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;  // columns of v and o to compute: a head, or a block of its columns
  // Row t of each begins `stride` floats after row t - 1.
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t qkv_stride = 0;
  int64_t v_stride = 0;                   // of v, if it is another one
  const float* alpha_forward = nullptr;   // null: no forward direction
  const float* alpha_backward = nullptr;  // null: no backward direction
  int64_t alpha_stride = 0;
  // The gate of a token decays the state after the token instead of before it: alpha_{t-1} replaces
  // alpha_t above, and the gate of the last token is not used. The gradient of v is such a scan.
  bool gates_after = false;
  float scale = 1.0f;
  // A sequence may be scanned in segments, one direction a call. `resume` continues from the state
  // that the call for the neighbouring segment left in `state`. `add` makes the result
  // scale * (o + this direction), where o holds the other direction with a scale of 1.
  bool resume = false;
  bool add = false;
  float* o = nullptr;  // overwritten; may not overlap the inputs
  int64_t o_stride = 0;
  float* state = nullptr;  // scratch of gla_state_floats, aligned to 64 bytes
};

// The state itself comes first in it.
size_t gla_state_floats(int64_t key_dim, int64_t value_dim);
// Tokens that are computed together. Segments that begin at multiples of it, counted from the end
// where the sweep begins, give the same bits as the whole sequence.
int64_t gla_chunk_tokens();

void gla(const GlaArgs& args);

}  // namespace vig
