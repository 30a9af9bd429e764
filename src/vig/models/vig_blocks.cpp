#include "vig/models/vig_blocks.h"

#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"

namespace vig {
namespace {

constexpr float kStemEps = 1e-5f;
constexpr float kLayerScaleInit = 1.0f;
constexpr Init kPositionInit = truncated_normal_init(0.02f);
constexpr std::array<std::string_view, 4> kMixingNames = {"causal", "shared", "gated", "two_layer"};

// Kernels and strides of the stem, and so the token grid of an image.
struct Stem {
  Builder::ConvShape first;
  Builder::ConvShape second;  // conv_stem only
};

Stem stem_shape(const VigBackboneConfig& config) {
  const int p = config.patch_size;
  if (!config.conv_stem) return {{p, p, 0}, {}};
  return {{p / 2 + 1, p / 2, 1}, {3, 2, 1}};
}

Value stem(Builder& b, Value image, const VigBackboneConfig& config, const std::string& name) {
  const int d = config.embed_dim;
  const Stem shape = stem_shape(config);
  if (!config.conv_stem) {
    return b.named(b.conv(image, name, d, shape.first), name);
  }
  Value x = b.conv(image, name + ".0", d / 2, shape.first);
  x = b.layer_norm(x, name + ".1", kStemEps);
  x = b.activation(x, Elementwise::kSilu);
  x = b.conv(x, name + ".3", d, shape.second);
  x = b.layer_norm(x, name + ".4", kStemEps);
  return b.named(x, name);
}

// Side of the token grid that a square image of `size` gives.
int grid_side(const VigBackboneConfig& config, int size) {
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

MixerConfig mixer_config(const VigBackboneConfig& config) {
  MixerConfig mixer;
  mixer.heads = config.heads;
  mixer.key_dim = static_cast<int>(config.embed_dim * config.expand_k);
  mixer.value_dim = static_cast<int>(config.embed_dim * config.expand_v);
  mixer.locality = config.locality;
  mixer.silu_after_dwconv = config.silu_after_dwconv;
  mixer.silu_before_o_proj = config.silu_before_o_proj;
  mixer.two_pass = config.scan == VigScan::kTwoPass;
  mixer.second_layer = config.mixing == VigMixing::kTwoLayer;
  switch (config.mixing) {
    case VigMixing::kCausal:
    case VigMixing::kTwoLayer:
      mixer.direction = GlaDirection::kForward;
      break;
    case VigMixing::kShared:
      mixer.direction = GlaDirection::kBothShared;
      break;
    case VigMixing::kGated:
      mixer.direction = GlaDirection::kBoth;
      break;
  }
  return mixer;
}

}  // namespace

void VigBackboneConfig::visit(FieldVisitor& visitor) {
  visitor.visit("patch_size", patch_size);
  visitor.visit("embed_dim", embed_dim);
  visitor.visit("depth", depth);
  visitor.visit("heads", heads);
  visitor.visit("expand_k", expand_k);
  visitor.visit("expand_v", expand_v);
  visitor.visit("conv_stem", conv_stem);
  visitor.visit("position", position);
  visitor.visit("locality", locality);
  visitor.visit("silu_after_dwconv", silu_after_dwconv);
  visitor.visit("silu_before_o_proj", silu_before_o_proj);
  visitor.visit("layer_scale", layer_scale);
  visitor.visit("mixing", mixing, kMixingNames);
  visitor.visit("scan", scan, kVigScanNames);
}

void VigBackboneConfig::check() const {
  if (patch_size < 2 || (conv_stem && patch_size % 4 != 0)) {
    fail_usage("[vig] patch_size is {}, expected a multiple of 4", patch_size);
  }
  if (embed_dim < 2 || embed_dim % 2 != 0) {
    fail_usage("[vig] embed_dim is {}, expected an even number", embed_dim);
  }
}

VigBackboneConfig VigBackboneConfig::tiny() {
  VigBackboneConfig config;
  config.silu_after_dwconv = true;
  config.silu_before_o_proj = true;
  return config;
}

VigBackboneConfig VigBackboneConfig::small() {
  VigBackboneConfig config;
  config.embed_dim = 384;
  config.heads = 6;
  return config;
}

VigBackboneConfig VigBackboneConfig::base() {
  VigBackboneConfig config;
  config.embed_dim = 768;
  config.heads = 12;
  return config;
}

Value vig_tokens(Builder& b, Value image, const VigBackboneConfig& config, int image_size,
                 const std::string& prefix) {
  const Value x = stem(b, image, config, prefix + "patch_embed.proj");
  if (!config.position) return x;
  const int side = grid_side(config, image_size);
  return b.add_position(x, prefix + "pos_embed", side, side, kPositionInit);
}

Value vig_block(Builder& b, Value x, int number, const VigBackboneConfig& config, float drop_path,
                const std::string& prefix) {
  const std::string name = fmt::format("{}blocks.{}", prefix, number);
  const double rate = drop_rate(drop_path, number, config.depth);
  b.next_level();
  Value u = b.rms_norm(x, name + ".attn_norm", kVigNormEps);
  b.named(u, name + ".attn_norm");
  Value branch = mixer(b, u, name + ".attn", mixer_config(config));
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma1", kLayerScaleInit);
  x = b.residual(x, branch, rate);
  u = b.rms_norm(x, name + ".mlp_norm", kVigNormEps);
  b.named(u, name + ".mlp_norm");
  branch = swiglu_ffn(b, u, name + ".mlp.gate_proj", name + ".mlp.down_proj",
                      ffn_hidden(config.embed_dim, 256), kVigLinearInit);
  b.named(branch, name + ".mlp");
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma2", kLayerScaleInit);
  return b.named(b.residual(x, branch, rate), name);
}

}  // namespace vig
