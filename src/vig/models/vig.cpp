// ViG: Linear-complexity Visual Sequence Learning with Gated Linear Attention.
//
// d embedding width, p patch size, m FFN hidden width; tokens row by row.
// x = stem(picture) + position;  x += mixer(norm(x));  x += ffn(norm(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include "vig/models/vig.h"

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr float kStemEps = 1e-5f;
constexpr float kNormEps = 1e-6f;
constexpr float kLayerScaleInit = 1.0f;
constexpr Init kLinearInit{Init::Kind::kNormal, 0.02f};
constexpr Init kPositionInit{Init::Kind::kTruncatedNormal, 0.02f};

// Kernels and strides of the stem, and so the token grid of a picture.
struct Stem {
  Builder::ConvShape first;
  Builder::ConvShape second;  // conv_stem only
};

Stem stem_shape(const VigConfig& config) {
  const int p = config.patch_size;
  if (!config.conv_stem) return {{p, p, 0}, {}};
  return {{p / 2 + 1, p / 2, 1}, {3, 2, 1}};
}

Value stem(Builder& b, const VigConfig& config) {
  const int d = config.embed_dim;
  const Stem shape = stem_shape(config);
  if (!config.conv_stem) {
    return b.named(b.conv(b.input(), "patch_embed.proj", d, shape.first), "patch_embed.proj");
  }
  Value x = b.conv(b.input(), "patch_embed.proj.0", d / 2, shape.first);
  x = b.layer_norm(x, "patch_embed.proj.1", kStemEps);
  x = b.activation(x, ActKind::kSilu);
  x = b.conv(x, "patch_embed.proj.3", d, shape.second);
  x = b.layer_norm(x, "patch_embed.proj.4", kStemEps);
  return b.named(x, "patch_embed.proj");
}

// Side of the token grid that a square picture of `size` gives.
int grid_side(const VigConfig& config, int size) {
  const auto out = [&](int n, const Builder::ConvShape& c) {
    if (n + 2 * c.padding < c.kernel) {
      fail_usage("[vig] image_size {} is too small for patch_size {}", size, config.patch_size);
    }
    return (n + 2 * c.padding - c.kernel) / c.stride + 1;
  };
  const Stem shape = stem_shape(config);
  const int side = out(size, shape.first);
  return config.conv_stem ? out(side, shape.second) : side;
}

MixerConfig mixer_config(const VigConfig& config) {
  MixerConfig mixer;
  mixer.heads = config.heads;
  mixer.key_dim = static_cast<int>(config.embed_dim * config.expand_k);
  mixer.value_dim = static_cast<int>(config.embed_dim * config.expand_v);
  mixer.locality = config.locality;
  mixer.silu_after_dwconv = config.silu_after_dwconv;
  mixer.silu_before_o_proj = config.silu_before_o_proj;
  mixer.second_layer = config.mixing == VigConfig::Mixing::kTwoLayer;
  switch (config.mixing) {
    case VigConfig::Mixing::kCausal:
    case VigConfig::Mixing::kTwoLayer:
      mixer.direction = GlaDirection::kForward;
      break;
    case VigConfig::Mixing::kShared:
      mixer.direction = GlaDirection::kBothShared;
      break;
    case VigConfig::Mixing::kGated:
      mixer.direction = GlaDirection::kBoth;
      break;
  }
  return mixer;
}

Value block(Builder& b, Value x, const std::string& name, const VigConfig& config) {
  Value u = b.rms_norm(x, name + ".attn_norm", kNormEps);
  b.named(u, name + ".attn_norm");
  Value branch = mixer(b, u, name + ".attn", mixer_config(config));
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma1", kLayerScaleInit);
  x = b.residual(x, branch);
  u = b.rms_norm(x, name + ".mlp_norm", kNormEps);
  b.named(u, name + ".mlp_norm");
  branch = swiglu_ffn(b, u, name + ".mlp.gate_proj", name + ".mlp.down_proj",
                      ffn_hidden(config.embed_dim, 256), kLinearInit);
  b.named(branch, name + ".mlp");
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma2", kLayerScaleInit);
  return b.named(b.residual(x, branch), name);
}

}  // namespace

Graph build_vig(const VigConfig& config, int height, int width) {
  if (config.patch_size < 2 || (config.conv_stem && config.patch_size % 4 != 0)) {
    fail_usage("[vig] patch_size is {}, expected a multiple of 4", config.patch_size);
  }
  if (config.embed_dim < 2 || config.embed_dim % 2 != 0) {
    fail_usage("[vig] embed_dim is {}, expected an even number", config.embed_dim);
  }
  Builder b(height, width);
  Value x = stem(b, config);
  if (config.position) {
    const int side = grid_side(config, config.image_size);
    x = b.add_position(x, "pos_embed", side, side, kPositionInit);
  }
  for (int i = 0; i < config.depth; ++i) x = block(b, x, fmt::format("blocks.{}", i), config);
  x = b.named(b.rms_norm(x, "norm", kNormEps), "norm");
  classifier_outputs(b, x, "head", config.classes, kLinearInit);
  return std::move(b).finish();
}

}  // namespace vig
