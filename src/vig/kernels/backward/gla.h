// Gradients of gated linear attention (kernels/gla.h) of one head, given that of its output.
//
// T tokens, K key width, V value width. Forward direction, do_t [V] the gradient of o_t, S_t the
// states of the scan (S_{-1} = 0):
//   D_t = scale * q_t^T do_t + diag(alpha_{t+1}) D_{t+1}   [K, V]  the gradient of S_t; D_T = 0
//   dq_t[i] = scale * sum_j S_t[i, j] do_t[j]
//   dk_t[i] = sum_j D_t[i, j] v_t[j],   dv_t[j] = sum_i k_t[i] D_t[i, j]
//   dlog_alpha_t[i] = alpha_t[i] * sum_j S_{t-1}[i, j] D_t[i, j]    the gradient of log alpha_t
// backward the same from the last token. Both directions add up in dq, dk and dv. Nothing divides
// by a decay and no term is got as a difference of larger ones, so gates near 0 are as exact as
// gates near 1. See docs/gla.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vig {

struct GlaBackwardArgs {
  int64_t tokens = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;  // all columns of the head: dq, dk and dlog_alpha are sums over them
  // Row t of each begins `stride` floats after row t - 1.
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t qkv_stride = 0;
  // At least one of the two. Null: that direction was not scanned, and its dlog_alpha is not used.
  // Both may be the same gates.
  const float* alpha_forward = nullptr;
  const float* alpha_backward = nullptr;
  int64_t alpha_stride = 0;
  float scale = 1.0f;
  const float* grad_o = nullptr;  // do
  int64_t grad_o_stride = 0;
  // Outputs are overwritten, none is read, and none may overlap an input or another output, except:
  // with dlog_alpha_forward == dlog_alpha_backward that one gets the sum of both, which is the
  // gradient of gates shared by both directions.
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
  int64_t dqkv_stride = 0;
  float* dlog_alpha_forward = nullptr;
  float* dlog_alpha_backward = nullptr;
  int64_t dlog_alpha_stride = 0;
  float* scratch = nullptr;  // of gla_backward_scratch_floats, aligned to 64 bytes
};

// Half a megabyte of states [K, V], fewer for short sequences, but up to 17; and one for every
// segment of tokens that fills as much: at K = 32, V = 64 one every 256 tokens.
size_t gla_backward_scratch_floats(int64_t tokens, int64_t key_dim, int64_t value_dim);

// Allocates nothing, starts no threads; the bits depend on the arguments of this head alone.
void gla_backward(const GlaBackwardArgs& args);

}  // namespace vig
