// ViG: Linear-complexity Visual Sequence Learning with Gated Linear Attention.
//
// d embedding width, p patch size, m FFN hidden width; tokens row by row.
// x = stem(image) + position;  x += mixer(norm(x));  x += ffn(norm(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/vig_blocks.h"

namespace vig {
namespace {

struct VigConfig : ConfigOf<VigConfig>, VigBackboneConfig {
  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    VigBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return depth; }

  Graph build(int height, int width) const override {
    check();
    Builder b;
    Value x = vig_tokens(b, b.input("image", {height, width, 3}), *this, image_size);
    for (int i = 0; i < depth; ++i) x = vig_block(b, x, i, *this, drop_path);
    b.next_level();
    x = b.named(b.rms_norm(x, "norm", kVigNormEps), "norm");
    classifier_outputs(b, x, "head", classes, kVigLinearInit);
    return std::move(b).finish();
  }

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    fields.merge(image_size_shown_by(shapes, "pos_embed", 0, patch_size));
    return fields;
  }
};

// ---- the models ---------------------------------------------------------------------------

VigConfig plain(const VigBackboneConfig& backbone, float drop_path) {
  VigConfig config;
  static_cast<VigBackboneConfig&>(config) = backbone;
  config.drop_path = drop_path;
  return config;
}

VigConfig tiny() { return plain(VigBackboneConfig::tiny(), 0.0f); }

// A stage of the roadmap: vig_t without what came later.
VigConfig roadmap(bool conv_stem, VigMixing mixing, bool position) {
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
          {"vig_s", plain(VigBackboneConfig::small(), 0.2f), imagenet, "plain, small", "23M",
           "3.5G"},
          {"vig_b", plain(VigBackboneConfig::base(), 0.5f), imagenet, "plain, base", "89M",
           "13.8G"},
          {"gla_t", roadmap(false, VigMixing::kCausal, false), imagenet, "roadmap: causal GLA",
           "5.72M"},
          {"gla_t_stem", roadmap(true, VigMixing::kCausal, false), imagenet,
           "roadmap: + improved patch embedding", "5.75M"},
          {"gla_t_bidirectional", roadmap(true, VigMixing::kShared, false), imagenet,
           "roadmap: + both directions, one gate", "5.75M"},
          {"gla_t_position", roadmap(true, VigMixing::kShared, true), imagenet,
           "roadmap: + position embedding", "5.79M"},
          {"gla_t_gated", roadmap(true, VigMixing::kGated, true), imagenet,
           "roadmap: + direction-wise gate", "5.81M"},
          {"gla_t_locality", tiny(), imagenet, "roadmap: + 2-D gated locality = vig_t", "5.83M"},
          {"gla_t_vim", roadmap(true, VigMixing::kTwoLayer, false), imagenet,
           "bidirectional table: a second, backward layer", "6.70M"},
          {"test_vig", miniature(), imagenet.with_size(64), "miniature for tests"},
      }};
}

}  // namespace vig
