// ConvNeXt: A ConvNet for the 2020s.
//
// Stages of c channels, each but the first behind a norm and a 2 x 2 convolution.
// x += gamma * fc2(gelu(fc1(norm(depthwise 7 x 7(x)))));  head(norm(mean(x))).
// Parameter names are those of the released checkpoints, or timm's.
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

constexpr Init kInit = truncated_normal_init(0.02f);

enum class Names { kOfficial, kTimm };
constexpr std::array<std::string_view, 2> kNamesNames = {"official", "timm"};

struct ConvNeXtConfig : ConfigOf<ConvNeXtConfig> {
  std::vector<int> dims = {96, 192, 384, 768};
  std::vector<int> depths = {3, 3, 9, 3};
  int kernel = 7;
  int mlp_ratio = 4;
  float ln_eps = 1e-6f;
  float gamma = 1e-6f;  // what layer scale begins with
  Names names = Names::kOfficial;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("dims", dims);
    visitor.visit("depths", depths);
    visitor.visit("kernel", kernel);
    visitor.visit("mlp_ratio", mlp_ratio);
    visitor.visit("ln_eps", ln_eps);
    visitor.visit("gamma", gamma);
    visitor.visit("names", names, kNamesNames);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    const bool timm = shapes("stem.0.weight") != nullptr;
    auto fields = classes_shown_by(shapes, timm ? "head.fc.weight" : "head.weight");
    fields["names"] = timm ? "timm" : "official";
    return fields;
  }
};

// The names of the modules.
struct ModuleNames {
  bool timm;

  std::string stem(int part) const {
    return fmt::format("{}.{}", timm ? "stem" : "downsample_layers.0", part);
  }
  std::string downsample(size_t stage) const {
    return timm ? fmt::format("stages.{}.downsample", stage)
                : fmt::format("downsample_layers.{}", stage);
  }
  std::string block(size_t stage, int block) const {
    return fmt::format("stages.{}{}.{}", stage, timm ? ".blocks" : "", block);
  }
  const char* depthwise() const { return timm ? ".conv_dw" : ".dwconv"; }
  const char* expand() const { return timm ? ".mlp.fc1" : ".pwconv1"; }
  const char* reduce() const { return timm ? ".mlp.fc2" : ".pwconv2"; }
  const char* norm() const { return timm ? "head.norm" : "norm"; }
  const char* head() const { return timm ? "head.fc" : "head"; }
};

Value block(Builder& b, Value x, const std::string& name, const ModuleNames& names, double rate,
            const ConvNeXtConfig& config) {
  b.next_level();
  const int c = b.grid(x).channels;
  Value y =
      b.depthwise_conv(x, name + names.depthwise(), {.kernel = config.kernel, .bias = true}, kInit);
  b.named(y, name + names.depthwise());
  y = b.layer_norm(y, name + ".norm", config.ln_eps);
  const int hidden = widened(name, "mlp_ratio", config.mlp_ratio, c);
  y = b.linear(y, name + names.expand(), hidden, true, kInit);
  y = b.activation(y, Elementwise::kGelu);
  y = b.linear(y, name + names.reduce(), c, true, kInit);
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
  const ModuleNames module{names == Names::kTimm};
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = b.conv(x, module.stem(0), dims[0], {.kernel = 4, .stride = 4}, kInit);
  x = b.named(b.layer_norm(x, module.stem(1), ln_eps), "stem");
  const int count = static_cast<int>(blocks());
  int number = 0;
  for (size_t s = 0; s < dims.size(); ++s) {
    if (s > 0) {
      const std::string name = module.downsample(s);
      x = b.layer_norm(x, name + ".0", ln_eps);
      x = b.conv(x, name + ".1", dims[s], {.kernel = 2, .stride = 2}, kInit);
      b.named(x, name);
    }
    for (int i = 0; i < depths[s]; ++i) {
      x = block(b, x, module.block(s, i), module, drop_rate(drop_path, number++, count), *this);
    }
    b.output(fmt::format("stage{}", s), b.named(x, fmt::format("stages.{}", s)));
  }
  b.next_level();
  b.output("features", x);
  x = b.named(b.layer_norm(b.mean_pool(x), module.norm(), ln_eps), module.norm());
  b.output("pooled", x);
  b.begin_head();
  b.output("logits", b.linear(x, module.head(), classes, true, kInit));
  return std::move(b).finish();
}

// ---- the models ---------------------------------------------------------------------------

ConvNeXtConfig variant(int width, int third_depth, float drop_path) {
  ConvNeXtConfig config;
  config.dims = {width, 2 * width, 4 * width, 8 * width};
  config.depths = {3, 3, third_depth, 3};
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

}  // namespace

Family convnext_family() {
  const Recipe imagenet;
  return {.name = "convnext",
          .base = "convnext_t",
          .models = {
              {"convnext_t", variant(96, 9, 0.1f), imagenet, "tiny", "29M", "4.5G"},
              {"convnext_s", variant(96, 27, 0.4f), imagenet, "small", "50M", "8.7G"},
              {"convnext_b", variant(128, 27, 0.5f), imagenet, "base", "89M", "15.4G"},
              {"test_convnext", miniature(), imagenet.with_size(64), "miniature for tests"},
          }};
}

}  // namespace vig
