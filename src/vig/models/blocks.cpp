#include "vig/models/blocks.h"

#include <numeric>

#include "vig/base/error.h"

namespace vig {
namespace {

constexpr int kGateRank = 16;
constexpr float kMixerGain = 0.1767767f;  // 2^-2.5
constexpr float kHeadNormEps = 1e-6f;

Init matrix_init(const MixerConfig& config, int64_t in, int64_t out) {
  return config.init.value_or(xavier_uniform(in, out, kMixerGain));
}

// One gated linear attention layer: projections, low-rank gate, scan. `suffix` names the second
// layer of GLA_Vim.
Value attention(Builder& b, Value x, const std::string& name, const std::string& suffix,
                const MixerConfig& config, GlaDirection direction) {
  const int d = b.grid(x).channels;
  GlaOp op{config.heads, config.key_dim / config.heads, config.value_dim / config.heads, direction,
           config.two_pass};
  const int qkv_width = 2 * config.key_dim + config.value_dim;
  const Value qkv =
      b.linear(x, name + ".qkv_proj" + suffix, qkv_width, false, matrix_init(config, d, qkv_width));
  const std::string gate = name + ".gk_proj" + suffix;
  const Value rank = b.linear(x, gate + ".0", kGateRank, false, matrix_init(config, d, kGateRank));
  const int gate_width = gla_gate_channels(op);
  const Value logits =
      b.linear(rank, gate + ".1", gate_width, true, matrix_init(config, kGateRank, gate_width));
  return b.gla(qkv, logits, op);
}

}  // namespace

void check_heads(const std::string& where, int heads, int key_dim, int value_dim) {
  if (heads < 1 || key_dim < 1 || value_dim < 1 || key_dim % heads != 0 || value_dim % heads != 0) {
    fail_usage(
        "[{}] {} heads do not divide key width {} and value width {} (fields heads, expand_k and "
        "expand_v)",
        where, heads, key_dim, value_dim);
  }
}

Value mixer(Builder& b, Value u, const std::string& name, const MixerConfig& config) {
  const int d = b.grid(u).channels;
  check_heads(name, config.heads, config.key_dim, config.value_dim);
  if (config.locality && config.value_dim != d) {
    fail_usage(
        "[{}] value width {} differs from the embedding width {}, which locality needs "
        "(expand_v=1)",
        name, config.value_dim, d);
  }
  Value local = u;
  if (config.locality) {
    const Init filter = matrix_init(config, 9, 9 * static_cast<int64_t>(d));
    local = b.depthwise_conv(u, name + ".in_proj.0", {}, filter);
    if (config.silu_after_dwconv) local = b.activation(local, Elementwise::kSilu);
    b.named(local, name + ".in_proj");
  }
  Value o = attention(b, local, name, "", config,
                      config.second_layer ? GlaDirection::kForward : config.direction);
  if (config.second_layer) {
    o = b.add(o, attention(b, local, name, "_b", config, GlaDirection::kBackward));
  }
  const Value gate = b.linear(local, name + ".g_proj", config.value_dim, true,
                              matrix_init(config, d, config.value_dim));
  o = b.named(b.rms_norm(o, name + ".g_norm", kHeadNormEps, config.heads), name + ".g_norm");
  Value mixed;
  if (config.locality) {
    local = b.rms_norm(local, name + ".l_norm", kHeadNormEps, config.heads);
    b.named(local, name + ".l_norm");
    mixed = b.gated_mix(gate, o, local);
    if (config.silu_before_o_proj) mixed = b.activation(mixed, Elementwise::kSilu);
  } else {
    mixed = b.mul(o, b.activation(gate, Elementwise::kSilu));
  }
  const Value out =
      b.linear(mixed, name + ".o_proj", d, false, matrix_init(config, config.value_dim, d));
  return b.named(out, name);
}

Value swiglu_ffn(Builder& b, Value x, const std::string& gate_name, const std::string& down_name,
                 int hidden, Init init) {
  const int d = b.grid(x).channels;
  const Value both = b.linear(x, gate_name, 2 * hidden, false, init);
  return b.linear(b.swiglu(both), down_name, d, false, init);
}

Value conv_norm(Builder& b, Value x, const std::string& conv, const std::string& norm, int channels,
                Builder::ConvShape shape, float eps) {
  shape.bias = false;
  const Init init = kaiming_normal(int64_t{channels} * shape.kernel * shape.kernel);
  return b.batch_norm(b.conv(x, conv, channels, shape, init), norm, {.eps = eps});
}

Value squeeze_excite(Builder& b, Value x, const SqueezeExcite& config) {
  const auto conv = [&](Value in, const std::string& name, int channels) {
    const Init bias = config.zero_bias ? Init{} : fan_in_uniform(b.grid(in).channels);
    return b.conv(in, name, channels, {}, kaiming_normal(channels), bias);
  };
  Value gate = b.activation(conv(b.mean_pool(x), config.reduce, config.width), config.function);
  gate = b.activation(conv(gate, config.expand, b.grid(x).channels), Elementwise::kSigmoid);
  return b.channel_gate(x, gate);
}

void check_width(const std::string& where, const char* field, double ratio, int64_t channels) {
  constexpr double kMost = 1 << 28;  // several times as much still fits an int
  const double width = ratio * static_cast<double>(channels);
  if (width > kMost) {
    fail_usage("[{}] {} {} times {} is {:.0f}, expected at most {:.0f}", where, field, ratio,
               channels, width, kMost);
  }
}

int widened(const std::string& where, const char* field, int ratio, int channels) {
  check_width(where, field, ratio, channels);
  return ratio * channels;
}

Value gelu_mlp(Builder& b, Value x, const std::string& name, int ratio, Init init) {
  const int d = b.grid(x).channels, hidden = widened(name, "mlp_ratio", ratio, d);
  x = b.activation(b.linear(x, name + ".fc1", hidden, true, init), Elementwise::kGelu);
  return b.named(b.linear(x, name + ".fc2", d, true, init), name);
}

Value patch_merging(Builder& b, Value x, const std::string& name, int channels, float eps,
                    Init init) {
  x = b.layer_norm(b.space_to_depth(x), name + ".norm", eps);
  return b.named(b.linear(x, name + ".reduction", channels, false, init), name);
}

void classifier_outputs(Builder& b, Value x, const std::string& head_name, int classes, Init weight,
                        Init bias, const std::string& pool_name) {
  b.output("features", x);
  const Value pooled = b.named(b.mean_pool(x), pool_name);
  b.output("pooled", pooled);
  b.begin_head();
  b.output("logits", b.linear(pooled, head_name, classes, true, weight, bias));
}

int64_t sum_of(const std::vector<int>& depths) {
  return std::accumulate(depths.begin(), depths.end(), int64_t{0});
}

int ffn_hidden(int channels, int multiple) {
  const int hidden = static_cast<int>(8LL * channels / 3);
  return (hidden + multiple - 1) / multiple * multiple;
}

}  // namespace vig
