// ViG-H: the hierarchical model of the ViG paper.
//
// Stages of c channels, m FFN hidden width; each stage but the last halves the grid.
// x += op(norm(x));  x += mlp(norm2(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr float kNormEps = 1e-5f;
constexpr Init kLinearInit = truncated_normal_init(0.02f);
constexpr Builder::ConvShape kHalve{3, 2, 1};

struct VigHConfig : ConfigOf<VigHConfig> {
  int patch_size = 4;  // the stem halves the picture twice: 4 is the only value
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {2, 2, 5, 2};
  std::vector<int> heads = {3, 6, 12, 24};
  float expand_k = 0.5f;  // key width / channels
  float expand_v = 1.0f;  // value width / channels

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("patch_size", patch_size);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("heads", heads);
    visitor.visit("expand_k", expand_k);
    visitor.visit("expand_v", expand_v);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.head.weight");
  }
};

Value block(Builder& b, Value x, const std::string& name, int heads, double rate,
            const VigHConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  MixerConfig mixer_config;
  mixer_config.heads = heads;
  mixer_config.key_dim = static_cast<int>(c * config.expand_k);
  mixer_config.value_dim = static_cast<int>(c * config.expand_v);
  mixer_config.init = kLinearInit;
  Value u = b.named(b.layer_norm(x, name + ".norm", kNormEps), name + ".norm");
  x = b.residual(x, mixer(b, u, name + ".op", mixer_config), rate);
  u = b.named(b.layer_norm(x, name + ".norm2", kNormEps), name + ".norm2");
  const Value branch =
      swiglu_ffn(b, u, name + ".mlp.fc1", name + ".mlp.fc2", ffn_hidden(c, 32), kLinearInit);
  b.named(branch, name + ".mlp");
  return b.named(b.residual(x, branch, rate), name);
}

Graph VigHConfig::build(int height, int width) const {
  const size_t stages = dims.size();
  if (stages == 0 || depths.size() != stages || heads.size() != stages) {
    fail_usage(
        "[vig_h] dims={} are {} stages, depths={} are {} and heads={} are {}; give the three for "
        "the same number of stages, each by --set FIELD=VALUE",
        fmt::join(dims, ","), stages, fmt::join(depths, ","), depths.size(), fmt::join(heads, ","),
        heads.size());
  }
  if (patch_size != 4) {
    fail_usage("[vig_h] patch_size is {}, expected 4", patch_size);
  }
  Builder b;
  Value x = b.conv(b.input("picture", {height, width, 3}), "patch_embed.0", dims[0] / 2, kHalve);
  x = b.activation(b.layer_norm(x, "patch_embed.2", kNormEps), Elementwise::kGelu);
  x = b.conv(x, "patch_embed.5", dims[0], kHalve);
  x = b.named(b.layer_norm(x, "patch_embed.7", kNormEps), "patch_embed");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < stages; ++s) {
    const std::string layer = fmt::format("layers.{}", s);
    for (int i = 0; i < depths[s]; ++i) {
      x = block(b, x, fmt::format("{}.blocks.{}", layer, i), heads[s],
                drop_rate(drop_path, number++, count), *this);
    }
    b.output(fmt::format("stage{}", s), x);
    if (s + 1 < stages) {
      x = b.conv(x, layer + ".downsample.1", dims[s + 1], kHalve);
      x = b.layer_norm(x, layer + ".downsample.3", kNormEps);
      b.named(x, layer + ".downsample");
    }
    b.named(x, layer);
  }
  b.next_level();
  x = b.named(b.layer_norm(x, "classifier.norm", kNormEps), "classifier.norm");
  classifier_outputs(b, x, "classifier.head", classes, kLinearInit);
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

VigHConfig hierarchical(int width, int third_depth, float drop_path) {
  VigHConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {2, 2, third_depth, 2};
  config.heads = {width / 32, width / 16, width / 8, width / 4};
  config.drop_path = drop_path;
  return config;
}

VigHConfig miniature() {
  VigHConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 32, 64, 128};
  config.depths = {1, 1, 1, 1};
  config.heads = {2, 4, 4, 8};
  return config;
}

}  // namespace

Family vig_h_family() {
  const Recipe imagenet;
  return {
      .name = "vig_h",
      .base = "vig_h_t",
      .models = {
          {"vig_h_t", hierarchical(96, 5, 0.2f), imagenet, "hierarchical, tiny", "29M", "4.5G"},
          {"vig_h_s", hierarchical(96, 17, 0.3f), imagenet, "hierarchical, small", "50M", "8.8G"},
          {"vig_h_b", hierarchical(128, 17, 0.6f), imagenet, "hierarchical, base", "89M", "15.5G"},
          {"test_vig_h", miniature(), imagenet.with_size(64), "miniature for tests"},
      }};
}

}  // namespace vig
