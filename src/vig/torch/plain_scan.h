// Gated linear attention in LibTorch's own operations, for other devices than the CPU and for
// tests.
#pragma once

#include <ATen/ATen.h>

namespace vig::train {

// One direction. q, k, log_alpha [B, H, T, K], v [B, H, T, V]; o_t = q_t S_t. A backward pass keeps
// the inputs alone and computes the rest again: the decays between the tokens of a chunk take 16
// times as much memory as the keys.
at::Tensor plain_scan(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                      const at::Tensor& log_alpha);

}  // namespace vig::train
