// Gradients of softmax attention (kernels/attention.h) of one head, given that of its output.
//
// T tokens, D head width. P is computed again from the logits S and the saved lse of each row,
// block by block, so that no T x T matrix is stored; do_i [D] is the gradient of o_i:
//   P_ij = e^(S_ij - lse_i),  dP_ij = do_i . v_j,  dS_ij = P_ij (dP_ij - do_i . o_i)
//   dq_i = scale sum_j dS_ij k_j,  dk_j = scale sum_i dS_ij q_i,  dv_j = sum_i P_ij do_i
//   dbias_ij = dS_ij
#pragma once

#include <cstddef>
#include <cstdint>

#include "vig/kernels/attention.h"

namespace vig {

struct AttentionBackwardArgs {
  // As it was computed: inputs, o and lse are read; packed, scratch and the range of queries are
  // not used.
  AttentionArgs forward;
  const float* grad_o = nullptr;  // do, row t (or rows[t]) as in o
  int64_t grad_o_stride = 0;
  // Row t (or rows[t]) of each is overwritten. None may overlap an input or another output.
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
  int64_t dqkv_stride = 0;
  // [D] each: what all padded tokens together give to pad_k and pad_v. Null where none is padded.
  float* dpad_k = nullptr;
  float* dpad_v = nullptr;
  float* dbias = nullptr;  // [T, T], query rows `dbias_stride` apart, added to; may be null
  int64_t dbias_stride = 0;
  float* scratch = nullptr;  // of attention_backward_scratch_floats, aligned to 64 bytes
};

// Linear in T.
size_t attention_backward_scratch_floats(int64_t tokens, int64_t head_dim);

// Allocates nothing, starts no threads; the bits depend on the arguments of this head alone.
void attention_backward(const AttentionBackwardArgs& args);

}  // namespace vig
