// Pieces that families share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vig/graph/builder.h"

namespace vig {

struct MixerConfig {
  int heads = 1;
  int key_dim = 0;    // of all heads together
  int value_dim = 0;  // of all heads together
  bool locality = true;
  bool silu_after_dwconv = false;
  bool silu_before_o_proj = false;
  GlaDirection direction = GlaDirection::kBoth;
  bool two_pass = false;      // see GlaOp
  bool second_layer = false;  // kForward plus a backward layer of its own q, k, v and gate
  std::optional<Init> init;   // of every matrix; Xavier-uniform if not given
};

// The spatial mixer on already normalised tokens.
Value mixer(Builder& b, Value u, const std::string& name, const MixerConfig& config);

// down(silu(gate) * value), without biases; one matrix makes gate and value.
Value swiglu_ffn(Builder& b, Value x, const std::string& gate_name, const std::string& down_name,
                 int hidden, Init init);

// A convolution without bias, begun for a ReLU behind it (Kaiming, fan-out), and its batch norm.
Value conv_norm(Builder& b, Value x, const std::string& conv, const std::string& norm, int channels,
                Builder::ConvShape shape, float eps);

// Squeeze-excite: x * sigmoid(expand(function(reduce(mean(x))))), two 1 x 1 convolutions with bias.
struct SqueezeExcite {
  std::string reduce, expand;  // their names
  int width = 1;               // channels between them
  Elementwise function = Elementwise::kRelu;
  bool zero_bias = false;  // fresh biases are PyTorch's default else
};
Value squeeze_excite(Builder& b, Value x, const SqueezeExcite& config);

// Throws a usage error where the field's `ratio` times `channels`, the width of a layer, is absurd.
void check_width(const std::string& where, const char* field, double ratio, int64_t channels);
// That width.
int widened(const std::string& where, const char* field, int ratio, int channels);

// fc2(gelu(fc1(x))) with biases: parameters `name`.fc1, `ratio` times as wide as x, and `name`.fc2.
Value gelu_mlp(Builder& b, Value x, const std::string& name, int ratio, Init init);

// 2 x 2 neighbours become one position: reduction(norm(of 4 C channels)).
Value patch_merging(Builder& b, Value x, const std::string& name, int channels, float eps,
                    Init init);

// The end of most classifiers: outputs "features" (x), "pooled" (its mean, of module `pool_name`)
// and "logits".
void classifier_outputs(Builder& b, Value x, const std::string& head_name, int classes, Init weight,
                        Init bias = {}, const std::string& pool_name = "avgpool");

// Stochastic depth: never in the first of `blocks`, with probability `last` in the last one, in
// proportion between.
inline double drop_rate(double last, int block, int blocks) {
  return blocks > 1 ? last * block / (blocks - 1) : 0.0;
}

// The blocks of all stages.
int64_t sum_of(const std::vector<int>& depths);

// Smallest multiple of `multiple` not below floor(8 * channels / 3).
int ffn_hidden(int channels, int multiple);

// Throws unless heads divide the key and the value width.
void check_heads(const std::string& where, int heads, int key_dim, int value_dim);

}  // namespace vig
