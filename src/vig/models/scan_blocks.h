// Pieces that families of state space models share.
#pragma once

#include <string>

#include "vig/graph/builder.h"

namespace vig {

// The width of the low-rank steps: a sixteenth of the channels.
inline int step_rank(int channels) { return (channels + 15) / 16; }

// The bias of the steps of a fresh state space model: softplus of it is log-uniform in [0.001,
// 0.1].
Init step_bias_init();
// The weight of the steps, [.., rank]: uniform within rank^-1/2.
Init step_weight_init(int rank);

// x * sigmoid(channel_select(gelu(global_reduce(mean(norm(x)))))) with an eighth of the channels in
// between: the channel gate of EfficientVMamba and LocalMamba.
Value channel_attention(Builder& b, Value x, const std::string& name, float eps);

// x'|z = in_proj(x) of E channels each; silu(conv2d(x')) and silu(z).
struct GatedMap {
  Value u, gate;
};
GatedMap gated_map(Builder& b, Value x, const std::string& name, int inner, int kernel, Init init);

}  // namespace vig
