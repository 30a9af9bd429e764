// ViG: Linear-complexity Visual Sequence Learning with Gated Linear Attention.
//
// d embedding width, p patch size, m FFN hidden width; tokens row by row.
// x = stem(picture) + position;  x += mixer(norm(x));  x += ffn(norm(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr float kStemEps = 1e-5f;
constexpr float kNormEps = 1e-6f;
constexpr float kLayerScaleInit = 1.0f;
constexpr Init kLinearInit = normal_init(0.02f);
constexpr Init kPositionInit = truncated_normal_init(0.02f);

// How the mixer sees both directions of the sequence.
enum class Mixing {
  kCausal,   // GLA as published for text
  kShared,   // both directions, one gate
  kGated,    // both directions, a gate each (ViG)
  kTwoLayer  // a second, backward layer with its own q, k, v and gate (GLA_Vim)
};
constexpr std::array<std::string_view, 4> kMixingNames = {"causal", "shared", "gated", "two_layer"};

struct VigConfig : ConfigOf<VigConfig> {
  int patch_size = 16;
  int embed_dim = 192;
  int depth = 12;
  int heads = 3;
  float expand_k = 0.5f;  // key width / embed_dim
  float expand_v = 1.0f;  // value width / embed_dim
  bool conv_stem = true;  // two overlapping convolutions instead of one patch convolution
  bool position = true;
  bool locality = true;  // depthwise convolution and 2-D gate
  bool silu_after_dwconv = false;
  bool silu_before_o_proj = false;
  bool layer_scale = false;
  Mixing mixing = Mixing::kGated;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
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
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    fields.merge(image_size_shown_by(shapes, "pos_embed", 0, patch_size));
    return fields;
  }
};

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

Value stem(Builder& b, Value picture, const VigConfig& config) {
  const int d = config.embed_dim;
  const Stem shape = stem_shape(config);
  if (!config.conv_stem) {
    return b.named(b.conv(picture, "patch_embed.proj", d, shape.first), "patch_embed.proj");
  }
  Value x = b.conv(picture, "patch_embed.proj.0", d / 2, shape.first);
  x = b.layer_norm(x, "patch_embed.proj.1", kStemEps);
  x = b.activation(x, Elementwise::kSilu);
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
  mixer.second_layer = config.mixing == Mixing::kTwoLayer;
  switch (config.mixing) {
    case Mixing::kCausal:
    case Mixing::kTwoLayer:
      mixer.direction = GlaDirection::kForward;
      break;
    case Mixing::kShared:
      mixer.direction = GlaDirection::kBothShared;
      break;
    case Mixing::kGated:
      mixer.direction = GlaDirection::kBoth;
      break;
  }
  return mixer;
}

Value block(Builder& b, Value x, int number, const VigConfig& config) {
  const std::string name = fmt::format("blocks.{}", number);
  const double rate = drop_rate(config.drop_path, number, config.depth);
  b.next_level();
  Value u = b.rms_norm(x, name + ".attn_norm", kNormEps);
  b.named(u, name + ".attn_norm");
  Value branch = mixer(b, u, name + ".attn", mixer_config(config));
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma1", kLayerScaleInit);
  x = b.residual(x, branch, rate);
  u = b.rms_norm(x, name + ".mlp_norm", kNormEps);
  b.named(u, name + ".mlp_norm");
  branch = swiglu_ffn(b, u, name + ".mlp.gate_proj", name + ".mlp.down_proj",
                      ffn_hidden(config.embed_dim, 256), kLinearInit);
  b.named(branch, name + ".mlp");
  if (config.layer_scale) branch = b.scale(branch, name + ".gamma2", kLayerScaleInit);
  return b.named(b.residual(x, branch, rate), name);
}

Graph VigConfig::build(int height, int width) const {
  if (patch_size < 2 || (conv_stem && patch_size % 4 != 0)) {
    fail_usage("[vig] patch_size is {}, expected a multiple of 4", patch_size);
  }
  if (embed_dim < 2 || embed_dim % 2 != 0) {
    fail_usage("[vig] embed_dim is {}, expected an even number", embed_dim);
  }
  Builder b;
  Value x = stem(b, b.input("picture", {height, width, 3}), *this);
  if (position) {
    const int side = grid_side(*this, image_size);
    x = b.add_position(x, "pos_embed", side, side, kPositionInit);
  }
  for (int i = 0; i < depth; ++i) x = block(b, x, i, *this);
  b.next_level();
  x = b.named(b.rms_norm(x, "norm", kNormEps), "norm");
  classifier_outputs(b, x, "head", classes, kLinearInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VigConfig plain(int embed_dim, int heads, float drop_path) {
  VigConfig config;
  config.embed_dim = embed_dim;
  config.heads = heads;
  config.drop_path = drop_path;
  return config;
}

VigConfig tiny() {
  VigConfig config = plain(192, 3, 0.0f);
  config.silu_after_dwconv = true;
  config.silu_before_o_proj = true;
  return config;
}

// A step of the roadmap: vig_t without what came later.
VigConfig roadmap(bool conv_stem, Mixing mixing, bool position) {
  VigConfig config = tiny();
  config.conv_stem = conv_stem;
  config.mixing = mixing;
  config.position = position;
  config.locality = false;
  config.silu_after_dwconv = false;
  config.silu_before_o_proj = false;
  return config;
}

VigConfig miniature() {
  VigConfig config = tiny();
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 64;
  config.depth = 2;
  config.heads = 2;
  return config;
}

}  // namespace

Family vig_family() {
  const Recipe imagenet;
  return {
      .name = "vig",
      .base = "vig_s",
      .models = {
          {"vig_t", tiny(), imagenet, "plain, tiny", "6M", "0.9G"},
          {"vig_s", plain(384, 6, 0.2f), imagenet, "plain, small", "23M", "3.5G"},
          {"vig_b", plain(768, 12, 0.5f), imagenet, "plain, base", "89M", "13.8G"},
          {"gla_t", roadmap(false, Mixing::kCausal, false), imagenet, "roadmap: causal GLA",
           "5.72M"},
          {"gla_t_stem", roadmap(true, Mixing::kCausal, false), imagenet,
           "roadmap: + improved patch embedding", "5.75M"},
          {"gla_t_bidirectional", roadmap(true, Mixing::kShared, false), imagenet,
           "roadmap: + both directions, one gate", "5.75M"},
          {"gla_t_position", roadmap(true, Mixing::kShared, true), imagenet,
           "roadmap: + position embedding", "5.79M"},
          {"gla_t_gated", roadmap(true, Mixing::kGated, true), imagenet,
           "roadmap: + direction-wise gate", "5.81M"},
          {"gla_t_locality", tiny(), imagenet, "roadmap: + 2-D gated locality = vig_t", "5.83M"},
          {"gla_t_vim", roadmap(true, Mixing::kTwoLayer, false), imagenet,
           "bidirectional table: a second, backward layer", "6.70M"},
          {"test_vig", miniature(), imagenet.with_size(64), "miniature for tests"},
      }};
}

}  // namespace vig
