// Vision-RWKV: Efficient and Scalable Visual Perception with RWKV-Like Architectures.
//
// C channels, T tokens of the grid; s the token shift, mix_a(x) = x m_a + s(x) (1 - m_a).
//   att(x) = output(sigmoid(receptance(mix_r(x))) * biwkv(key(mix_k(x)), value(mix_v(x))))
//   ffn(x) = sigmoid(receptance(mix_r(x))) * value(relu(key(mix_k(x)))^2)
// x += g1 att(ln1(x)) and x += g2 ffn(ln2(x)), or with the norms inside the branches,
// x += g1 ln1(att(x)); head(mean(ln1(x))). The image is padded with zeros to whole patches.
// Parameter names are those of the released checkpoints.
#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/vrwkv_blocks.h"

namespace vig {
namespace {

struct VrwkvConfig : ConfigOf<VrwkvConfig>, VrwkvBackboneConfig {
  int image_width = 0;  // of the image that the position table was made for; 0: image_size

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    VrwkvBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return depth; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.fc.weight");
    fields.merge(image_size_shown_by(shapes, "backbone.pos_embed", 0, patch_size));
    return fields;
  }
};

Graph VrwkvConfig::build(int height, int width) const {
  const GridSize table{image_size, image_width == 0 ? image_size : image_width};
  check(table.height, table.width);
  Builder b;
  Value x = vrwkv_tokens(b, b.input("image", {height, width, 3}), *this, table);
  for (int i = 0; i < depth; ++i) x = vrwkv_block(b, x, i, *this, drop_path);
  b.next_level();
  x = b.named(b.layer_norm(x, "backbone.ln1", ln_eps), "ln1");
  classifier_outputs(b, x, "head.fc", classes, kVrwkvInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VrwkvConfig variant(int embed_dim, bool post_norm, float gamma, float drop_path) {
  VrwkvConfig config;
  config.embed_dim = embed_dim;
  config.post_norm = config.layer_scale = post_norm;
  config.gamma = gamma;
  config.drop_path = drop_path;
  return config;
}

VrwkvConfig miniature() {
  VrwkvConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 2;
  return config;
}

}  // namespace

Family vrwkv_family() {
  const Recipe imagenet;
  return {
      .name = "vrwkv",
      .base = "vrwkv_t",
      .models =
          {
              {"vrwkv_t", variant(192, false, 1.0f, 0.0f), imagenet, "tiny", "6M", "1.2G"},
              {"vrwkv_s", variant(384, true, 1.0f, 0.3f), imagenet, "small", "24M", "4.6G"},
              {"vrwkv_b", variant(768, true, 1e-5f, 0.5f), imagenet, "base", "94M", "18.2G"},
              {"test_vrwkv", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .fixed_arguments = {{"channel_gamma", "0.25"}, {"shift_pixel", "1"}, {"final_norm", "true"}},
      .inner_activations = {".q_shift"},
      .versions = {{"", {{"released_kernel", "false"}}},
                   {"kernel", {{"released_kernel", "true"}}}}};
}

}  // namespace vig
