// gMLP: Pay Attention to MLPs.
//
// d embedding width, p patch size, T tokens. A block has one branch, whose gate mixes the tokens:
// h = gelu(fc1(norm(x)));  u, v = halves of h;  x += fc2(u * (W gate_norm(v) + b)).
// head(mean(norm(x))). Parameter names are timm's.
//
// W [T, T] belongs to one grid: images of another size than image_size x image_width are refused.
#include <cmath>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-6f;
constexpr float kGateNormEps = 1e-5f;
constexpr Init kBiasInit = normal_init(1e-6f);

struct GmlpConfig : ConfigOf<GmlpConfig> {
  int image_width = 0;  // beside image_size; 0: square
  int patch_size = 16;
  int embed_dim = 128;
  int depth = 30;
  int mlp_ratio = 6;  // of both halves together

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("image_width", image_width, 0);
    visitor.visit("patch_size", patch_size);
    visitor.visit("embed_dim", embed_dim);
    visitor.visit("depth", depth);
    visitor.visit("mlp_ratio", mlp_ratio);
  }
  int64_t blocks() const override { return depth; }
  bool fixed_size() const override { return true; }
  Graph build(int height, int width) const override;

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = classes_shown_by(shapes, "head.weight");
    const Shape* weight = shapes("blocks.0.mlp_channels.gate.proj.weight");
    if (weight == nullptr || weight->rank() != 2) return fields;
    fields.merge(image_size_shown_by((*weight)[0], patch_size));
    return fields;
  }
};

Value linear(Builder& b, Value x, const std::string& name, int channels) {
  return b.linear(x, name, channels, true, xavier_uniform(b.grid(x).channels, channels, 1.0f),
                  kBiasInit);
}

Value block(Builder& b, Value x, int number, const GmlpConfig& config) {
  const std::string name = fmt::format("blocks.{}", number), mlp = name + ".mlp_channels";
  const int half = widened(name, "mlp_ratio", config.mlp_ratio, config.embed_dim) / 2;
  b.next_level();
  Value h = b.named(b.layer_norm(x, name + ".norm", kNormEps), name + ".norm");
  h = b.activation(linear(b, h, mlp + ".fc1", 2 * half), Elementwise::kGelu);
  const Value u = b.select_channels(h, 0, half);
  Value v = b.layer_norm(b.select_channels(h, half, half), mlp + ".gate.norm", kGateNormEps);
  b.named(v, mlp + ".gate.norm");
  v = b.token_linear(v, mlp + ".gate.proj", normal_init(1e-6f), ones_init());
  v = b.named(b.mul(u, v), mlp + ".gate");
  const Value y = linear(b, v, mlp + ".fc2", config.embed_dim);
  return b.named(b.residual(x, y, drop_rate(config.drop_path, number, config.depth)), name);
}

Graph GmlpConfig::build(int height, int width) const {
  if (mlp_ratio % 2 != 0 && embed_dim % 2 != 0) {
    fail_usage("[gmlp] mlp_ratio {} times embed_dim {} has no halves, expected an even number",
               mlp_ratio, embed_dim);
  }
  const int made_width = image_width > 0 ? image_width : image_size;
  if (height != image_size || width != made_width) {
    fail_usage(
        "[gmlp] the image is {} x {}, expected {} x {}: the weights over tokens belong to one "
        "size (fields image_size and image_width)",
        height, width, image_size, made_width);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  const float deviation = 1.0f / (std::sqrt(3.0f) * static_cast<float>(patch_size));
  x = b.conv(x, "stem.proj", embed_dim, {.kernel = patch_size, .stride = patch_size},
             normal_init(deviation));
  x = b.named(x, "stem");
  for (int i = 0; i < depth; ++i) x = block(b, x, i, *this);
  b.next_level();
  x = b.named(b.layer_norm(x, "norm", kNormEps), "norm");
  classifier_outputs(b, x, "head", classes, {});
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

GmlpConfig variant(int embed_dim) {
  GmlpConfig config;
  config.embed_dim = embed_dim;
  return config;
}

GmlpConfig miniature() {
  GmlpConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.embed_dim = 32;
  config.depth = 2;
  return config;
}

}  // namespace

Family gmlp_family() {
  Recipe halves;
  halves.mean = halves.std = {0.5f, 0.5f, 0.5f};
  return {.name = "gmlp",
          .base = "gmlp_t",
          .models =
              {
                  {"gmlp_t", variant(128), halves, "tiny", "6M", "1.4G"},
                  {"gmlp_s", variant(256), halves, "small", "20M", "4.5G"},
                  {"gmlp_b", variant(512), halves, "base", "73M", "15.8G"},
                  {"test_gmlp", miniature(), halves.with_size(64), "miniature for tests"},
              },
          .fixed_arguments = {{"norm_eps", "1e-06"}, {"gate_norm_eps", "1e-05"}}};
}

}  // namespace vig
