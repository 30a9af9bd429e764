// ConvNeXt: A ConvNet for the 2020s.
//
// Stages of c channels, each but the first behind a norm and a 2 x 2 convolution.
// x += gamma * fc2(gelu(fc1(norm(depthwise 7 x 7(x)))));  head(norm(mean(x))).
// Parameter names are those of the released checkpoints.

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);

struct ConvNeXtConfig : ConfigOf<ConvNeXtConfig> {
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {3, 3, 9, 3};
  int kernel = 7;
  int mlp_ratio = 4;
  float ln_eps = 1e-6f;
  float gamma = 1e-6f;  // what layer scale begins with

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("kernel", kernel);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("gamma", gamma);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "head.weight");
  }
};

Value block(Builder& b, Value x, const std::string& name, double rate,
            const ConvNeXtConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  Value y = b.depthwise_conv(x, name + ".dwconv", {.kernel = config.kernel, .bias = true}, kInit);
  b.named(y, name + ".dwconv");
  y = b.layer_norm(y, name + ".norm", config.ln_eps);
  const int hidden = widened(name, "mlp_ratio", config.mlp_ratio, c);
  y = b.linear(y, name + ".pwconv1", hidden, true, kInit);
  y = b.activation(y, Elementwise::kGelu);
  y = b.linear(y, name + ".pwconv2", c, true, kInit);
  y = b.scale(y, name + ".gamma", config.gamma);
  return b.named(b.residual(x, y, rate), name);
}

Graph ConvNeXtConfig::build(int height, int width) const {
  if (dims.empty() || dims.size() != depths.size()) {
    fail_usage(
        "[convnext] {} dims and {} depths, expected the same number of stages; give both by "
        "--set FIELD=VALUE",
        dims.size(), depths.size());
  }
  if (kernel < 1 || kernel % 2 == 0 || mlp_ratio < 1) {
    fail_usage(
        "[convnext] kernel={} and mlp_ratio={}, expected an odd kernel and a ratio of 1 or "
        "more",
        kernel, mlp_ratio);
  }
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, "downsample_layers.0.0", dims[0], {.kernel = 4, .stride = 4}, kInit);
  x = b.named(b.layer_norm(x, "downsample_layers.0.1", ln_eps), "stem");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    if (s > 0) {
      const std::string name = fmt::format("downsample_layers.{}", s);
      x = b.layer_norm(x, name + ".0", ln_eps);
      x = b.conv(x, name + ".1", dims[s], {.kernel = 2, .stride = 2}, kInit);
      b.named(x, name);
    }
    for (int i = 0; i < depths[s]; ++i) {
      x = block(b, x, fmt::format("stages.{}.{}", s, i), drop_rate(drop_path, number++, count),
                *this);
    }
    b.output(fmt::format("stage{}", s), b.named(x, fmt::format("stages.{}", s)));
  }
  b.next_level();
  b.output("features", x);
  x = b.named(b.layer_norm(b.mean_pool(x), "norm", ln_eps), "norm");
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, "head", classes, true, kInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

ConvNeXtConfig variant(int width, std::vector<int> depths, float drop_path) {
  ConvNeXtConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = std::move(depths);
  config.drop_path = drop_path;
  return config;
}

ConvNeXtConfig miniature() {
  ConvNeXtConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.dims = {16, 24, 32, 48};
  config.depths = {1, 1, 2, 1};
  config.gamma = 0.5f;  // else a fresh block is nearly the identity
  return config;
}

// ---- what others publish ------------------------------------------------------------------

constexpr NameRule kTorchvisionNames[] = {
    {"^features.0", "downsample_layers.0"},
    {"^features.2", "downsample_layers.1"},
    {"^features.4", "downsample_layers.2"},
    {"^features.6", "downsample_layers.3"},
    {"^features.1", "stages.0"},
    {"^features.3", "stages.1"},
    {"^features.5", "stages.2"},
    {"^features.7", "stages.3"},
    {"block.0", "dwconv"},
    {"block.2", "norm"},
    {"block.3", "pwconv1"},
    {"block.5", "pwconv2"},
    {"layer_scale", "gamma", true},
    {"^classifier.0", "norm"},
    {"^classifier.2", "head"},
};

// Its small networks have 1 x 1 convolutions instead of linear layers.
constexpr NameRule kTimmNames[] = {
    {"^stem.#", "downsample_layers.0.#1"},
    {"^stages.#.downsample", "downsample_layers.#1"},
    {"^stages.#.blocks.#", "stages.#1.#2"},
    {"conv_dw", "dwconv"},
    {"mlp.fc1", "pwconv1", true},
    {"mlp.fc2", "pwconv2", true},
    {"^head.norm", "norm"},
    {"^head.fc", "head"},
};

}  // namespace

Family convnext_family() {
  const Recipe imagenet;
  return {
      .name = "convnext",
      .base = "convnext_t",
      .models =
          {
              {"convnext_t", variant(96, {3, 3, 9, 3}, 0.1f), imagenet, "tiny", "29M", "4.5G"},
              {"convnext_s", variant(96, {3, 3, 27, 3}, 0.4f), imagenet, "small", "50M", "8.7G"},
              {"convnext_b", variant(128, {3, 3, 27, 3}, 0.5f), imagenet, "base", "89M", "15.4G"},
              {"test_convnext", miniature(), imagenet.with_size(64), "miniature for tests"},
          },
      .imported =
          {
              {"convnext_l", variant(192, {3, 3, 27, 3}, 0.5f), imagenet, "large"},
              {"convnext_xl", variant(256, {3, 3, 27, 3}, 0.5f), imagenet, "extra large"},
              {"convnext_atto", variant(40, {2, 2, 6, 2}, 0.1f), imagenet, "timm's atto"},
              {"convnext_femto", variant(48, {2, 2, 6, 2}, 0.1f), imagenet, "timm's femto"},
              {"convnext_pico", variant(64, {2, 2, 6, 2}, 0.1f), imagenet, "timm's pico"},
              {"convnext_nano", variant(80, {2, 2, 8, 2}, 0.1f), imagenet, "timm's nano"},
          },
      .publisher = "the authors",
      .names = {{kTorchvision, "features.1.0.layer_scale", kTorchvisionNames},
                {kTimm, "stem.0.weight", kTimmNames}},
      .recipes = {{"convnext_t", kTorchvision, "convnext_tiny-983f1562", bilinear_crop(236, 224)},
                  {"convnext_s", kTorchvision, "convnext_small-0c510722", bilinear_crop(230, 224)},
                  {"convnext_b", kTorchvision, "convnext_base-6075fbad", bilinear_crop(232, 224)},
                  {"convnext_l", kTorchvision, "convnext_large-ea097f82", bilinear_crop(232, 224)},
                  {"convnext_nano", kTimm, "", bicubic_crop(235, 224)}},
      .timm_networks = {"convnext_"},
      .fixed_arguments = {{"names", ""}}};
}

}  // namespace vig
