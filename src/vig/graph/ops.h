// The closed set of operations a network is made of. A value is a grid of channel vectors,
// [batch, height, width, channels] with channels last; the batch is left to whoever executes the
// graph. A sequence is a grid read row by row, so a token layer and a 1x1 convolution are the same.
//
// Every operation is plain: what runs fused is decided by each executor. `Op` is a std::variant
// visited without a default branch, so an executor that misses an operation does not compile.
#pragma once

#include <string>
#include <variant>

#include "vig/base/elementwise.h"

namespace vig {

// The picture: 3 channels, normalised by the recipe.
struct InputOp {};

// Cross-correlation with zero padding. weight [out, in, kernel, kernel], optional bias [out].
struct ConvOp {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
};

// One filter per channel, stride 1, padding kernel/2. weight [channels, 1, kernel, kernel].
struct DepthwiseConvOp {
  int kernel = 3;
};

// y = x W^T + b. weight [out, in], optional bias [out].
struct LinearOp {};

// Over channels: (x - mean) / sqrt(var + eps) * weight + bias.
struct LayerNormOp {
  float eps = 1e-5f;
};

// x / sqrt(mean(x^2) + eps) * weight, over each of `groups` equal parts of the channels; the weight
// (channels / groups) is shared by the groups.
struct RmsNormOp {
  float eps = 1e-6f;
  int groups = 1;
};

struct ActivationOp {
  Elementwise function = Elementwise::kSilu;
};

// Elementwise sum of two values of the same grid. Of a residual one the second operand is a branch
// that training leaves out with this probability (stochastic depth).
struct AddOp {
  bool residual = false;
  double drop_rate = 0;
};

// Elementwise product.
struct MulOp {};

// x * weight, a vector over channels (layer scale).
struct ScaleOp {};

// x + table, a learned [1, rows * cols, channels]; resized to x's grid when that differs: bicubic,
// coefficient -0.75, half-pixel centres, no antialiasing.
struct AddPositionOp {
  int rows = 0;
  int cols = 0;
};

// First half of the channels is the gate: silu(gate) * value.
struct SwiGluOp {};

// Inputs g, a, b: sigmoid(g) * a + (1 - sigmoid(g)) * b.
struct GatedMixOp {};

enum class GlaDirection {
  kForward,    // causal
  kBackward,   // causal from the last token
  kBoth,       // (forward + backward) / 2 with a gate each
  kBothShared  // the same with one gate for both directions
};

// Gated linear attention (paper, eq. of the bidirectional layer). Inputs: qkv with channels
// [q: H*K | k: H*K | v: H*V] and gate logits z, [H*K] a direction (forward first).
//   alpha = exp(logsigmoid(z) / 16)
//   S_t = diag(alpha_t) S_{t-1} + k_t^T v_t,  o_t = K^-1/2 q_t S_t
// Backward the same from the last token; both directions include token t itself.
struct GlaOp {
  int heads = 1;
  int key_dim = 1;    // K, per head
  int value_dim = 1;  // V, per head
  GlaDirection direction = GlaDirection::kBoth;
};

// Mean over all positions: a 1x1 grid.
struct MeanPoolOp {};

using Op =
    std::variant<InputOp, ConvOp, DepthwiseConvOp, LinearOp, LayerNormOp, RmsNormOp, ActivationOp,
                 AddOp, MulOp, ScaleOp, AddPositionOp, SwiGluOp, GatedMixOp, GlaOp, MeanPoolOp>;

const char* op_name(const Op& op);

// How many gate logits a token has: one set of keys for each direction with its own gate.
inline int gla_gate_channels(const GlaOp& op) {
  return op.heads * op.key_dim * (op.direction == GlaDirection::kBoth ? 2 : 1);
}
inline int gla_directions(const GlaOp& op) {
  return op.direction == GlaDirection::kBoth || op.direction == GlaDirection::kBothShared ? 2 : 1;
}

// Helper for std::visit with one lambda per operation.
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace vig
