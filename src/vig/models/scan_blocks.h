// Pieces that families of state space models share.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/graph/builder.h"

namespace vig {

// The width of the low-rank step sizes: a sixteenth of the channels.
inline int step_rank(int channels) { return (channels + 15) / 16; }

// The bias of the step sizes of a fresh state space model: softplus of it is log-uniform in [0.001,
// 0.1].
Init step_bias_init();
// Logarithms of step sizes: uniform from log(least) to log(most).
Init log_step_init(float least, float most);
// The weight of the step sizes, [.., rank]: uniform within rank^-1/2.
Init step_weight_init(int rank);

// The tables `name`.freqs_cos and .freqs_sin of rotary positions for side x side tokens, an even
// number of pairs of channels.
Builder::RotaryTables rotary_tables(const std::string& name, int side);

// x * sigmoid(channel_select(gelu(global_reduce(mean(norm(x)))))) with an eighth of the channels in
// between: the channel gate of EfficientVMamba and LocalMamba.
Value channel_attention(Builder& b, Value x, const std::string& name, float eps);

// The directions of LocalMamba's scans: rows, columns, windows of 2 x 2 and 7 x 7, and these
// backward. A block has four of them.
enum LocalDirection { kH, kHFlip, kV, kVFlip, kW2, kW2Flip, kW7, kW7Flip };
inline constexpr std::array<std::string_view, 8> kLocalDirectionNames = {
    "h", "h_flip", "v", "v_flip", "w2", "w2_flip", "w7", "w7_flip"};
inline constexpr int kLocalDirections = 4;
using LocalDirections = std::array<int, kLocalDirections>;
ScanPath local_path(int direction);
// Those of all blocks, one after the other.
std::vector<int> concatenated(std::span<const LocalDirections> blocks);

// x'|z = in_proj(x) of E channels each; silu(conv2d(x')) and silu(z).
struct GatedMap {
  Value u, gate;
};
GatedMap gated_map(Builder& b, Value x, const std::string& name, int inner, int kernel, Init init);

}  // namespace vig
