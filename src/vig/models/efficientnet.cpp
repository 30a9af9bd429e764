// EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, as torchvision and timm
// build it.
//
// Stages of inverted residual blocks: c channels in, e = expansion c inside, w out.
// y = project(gate(silu(norm(depthwise(silu(norm(expand(x))))))));  y += x where stride is 1 and c
// = w. classifier(mean(silu(norm(1 x 1(x))))). Parameter names are torchvision's or timm's.
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

enum class Names { kTorchvision, kTimm };
constexpr std::array<std::string_view, 2> kNamesNames = {"torchvision", "timm"};

// Weights made in TensorFlow (timm's tf_efficientnet) expect its padding.
enum class Padding { kSymmetric, kSame };
constexpr std::array<std::string_view, 2> kPaddingNames = {"symmetric", "same"};

struct EfficientNetConfig : ConfigOf<EfficientNetConfig> {
  int stem_channels = 40;
  std::vector<int> widths = {24, 32, 48, 96, 136, 232, 384};
  std::vector<int> depths = {2, 3, 3, 5, 5, 6, 2};
  std::vector<int> expand_ratios = {1, 6, 6, 6, 6, 6, 6};
  std::vector<int> kernels = {3, 3, 5, 3, 5, 5, 3};
  std::vector<int> strides = {1, 2, 2, 2, 1, 2, 1};  // of each stage's first block
  int last_channels = 1536;
  float bn_eps = 1e-5f;
  Padding padding = Padding::kSymmetric;
  Names names = Names::kTorchvision;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("stem_channels", stem_channels);
    visitor.visit("widths", widths);
    visitor.visit("depths", depths);
    visitor.visit("expand_ratios", expand_ratios);
    visitor.visit("kernels", kernels);
    visitor.visit("strides", strides);
    visitor.visit("last_channels", last_channels);
    visitor.visit("bn_eps", bn_eps);
    visitor.visit("padding", padding, kPaddingNames);
    visitor.visit("names", names, kNamesNames);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    const bool timm = shapes("conv_stem.weight") != nullptr;
    auto fields = classes_shown_by(shapes, timm ? "classifier.weight" : "classifier.1.weight");
    fields["names"] = kNamesNames[timm ? 1 : 0];
    return fields;
  }
};

// A convolution and its norm.
struct PairNames {
  std::string conv, norm;
};

// The names of a block's layers, which torchvision numbers: the expansion, where there is one,
// first.
struct BlockNames {
  std::string name;
  bool timm, expands;

  PairNames numbered(int layer) const {
    return {fmt::format("{}.block.{}.0", name, layer), fmt::format("{}.block.{}.1", name, layer)};
  }
  PairNames expand() const {
    return timm ? PairNames{name + ".conv_pw", name + ".bn1"} : numbered(0);
  }
  PairNames depthwise() const {
    if (!timm) return numbered(expands ? 1 : 0);
    return {name + ".conv_dw", name + (expands ? ".bn2" : ".bn1")};
  }
  std::string gate() const {
    return timm ? name + ".se" : fmt::format("{}.block.{}", name, expands ? 2 : 1);
  }
  PairNames project() const {
    if (!timm) return numbered(expands ? 3 : 2);
    return {name + (expands ? ".conv_pwl" : ".conv_pw"), name + (expands ? ".bn3" : ".bn2")};
  }
};

class Network {
 public:
  explicit Network(const EfficientNetConfig& config)
      : config_(config), timm_(config.names == Names::kTimm) {}

  Graph build(int height, int width) {
    Value x = b_.input("image", {height, width, 3});
    const PairNames stem =
        timm_ ? PairNames{"conv_stem", "bn1"} : PairNames{"features.0.0", "features.0.1"};
    x = conv_norm(x, stem, config_.stem_channels,
                  {.kernel = 3, .stride = 2, .padding = padding(3)});
    x = silu(x);
    if (!timm_) b_.named(x, "features.0");
    const auto count = static_cast<double>(config_.blocks());
    int number = 0;
    for (size_t s = 0; s < config_.widths.size(); ++s) {
      const std::string stage =
          timm_ ? fmt::format("blocks.{}", s) : fmt::format("features.{}", s + 1);
      for (int i = 0; i < config_.depths[s]; ++i) {
        x = block(x, fmt::format("{}.{}", stage, i), s, i == 0 ? config_.strides[s] : 1,
                  config_.drop_path * number++ / count);
      }
      b_.output(fmt::format("stage{}", s), b_.named(x, stage));
    }
    b_.next_level();
    const std::string last = fmt::format("features.{}", config_.widths.size() + 1);
    const PairNames head =
        timm_ ? PairNames{"conv_head", "bn2"} : PairNames{last + ".0", last + ".1"};
    x = silu(conv_norm(x, head, config_.last_channels, {}));
    if (!timm_) b_.named(x, last);
    classifier_outputs(b_, x, timm_ ? "classifier" : "classifier.1", config_.classes,
                       fan_in_uniform(config_.classes), {}, timm_ ? "global_pool" : "avgpool");
    return std::move(b_).finish();
  }

 private:
  int padding(int kernel) const {
    return config_.padding == Padding::kSame ? kSamePadding : (kernel - 1) / 2;
  }
  Value silu(Value x) { return b_.activation(x, Elementwise::kSilu); }

  Value conv_norm(Value x, const PairNames& names, int channels, Builder::ConvShape shape) {
    shape.bias = false;
    const Init init = kaiming_normal(int64_t{channels} * shape.kernel * shape.kernel);
    x = b_.named(b_.conv(x, names.conv, channels, shape, init), names.conv);
    return b_.batch_norm(x, names.norm, {.eps = config_.bn_eps});
  }

  Value block(Value x, const std::string& name, size_t stage, int stride, double rate) {
    b_.next_level();
    const int in = b_.grid(x).channels, width = config_.widths[stage];
    const int inside = widened(name, "expand_ratios", config_.expand_ratios[stage], in);
    const int kernel = config_.kernels[stage];
    const BlockNames names{name, timm_, inside != in};
    Value y = x;
    if (names.expands) y = silu(conv_norm(y, names.expand(), inside, {}));
    const Init filter = kaiming_normal(int64_t{inside} * kernel * kernel);
    y = b_.depthwise_conv(y, names.depthwise().conv,
                          {.kernel = kernel, .stride = stride, .padding = padding(kernel)}, filter);
    y = silu(b_.batch_norm(y, names.depthwise().norm, {.eps = config_.bn_eps}));
    SqueezeExcite gate;
    gate.reduce = names.gate() + (timm_ ? ".conv_reduce" : ".fc1");
    gate.expand = names.gate() + (timm_ ? ".conv_expand" : ".fc2");
    gate.width = std::max(1, in / 4);
    gate.function = Elementwise::kSilu;
    gate.zero_bias = true;
    y = b_.named(squeeze_excite(b_, y, gate), names.gate());
    y = conv_norm(y, names.project(), width, {});
    if (stride == 1 && in == width) y = b_.residual(x, y, rate);
    return b_.named(y, name);
  }

  const EfficientNetConfig& config_;
  bool timm_;
  Builder b_;
};

Graph EfficientNetConfig::build(int height, int width) const {
  const size_t stages = widths.size();
  if (stages < 1 || depths.size() != stages || expand_ratios.size() != stages ||
      kernels.size() != stages || strides.size() != stages) {
    fail_usage(
        "[efficientnet] {} widths, {} depths, {} expand_ratios, {} kernels and {} strides, "
        "expected "
        "the same number of stages; give all by --set FIELD=VALUE",
        stages, depths.size(), expand_ratios.size(), kernels.size(), strides.size());
  }
  for (int kernel : kernels) {
    if (kernel % 2 == 0) fail_usage("[efficientnet] kernel {}, expected an odd one", kernel);
  }
  return Network(*this).build(height, width);
}

// ---- the models ---------------------------------------------------------------------------

EfficientNetConfig variant(int size, int stem, std::vector<int> widths, std::vector<int> depths,
                           float bn_eps) {
  EfficientNetConfig config;
  config.image_size = size;
  config.drop_path = 0.2f;
  config.stem_channels = stem;
  config.last_channels = 4 * widths.back();
  config.widths = std::move(widths);
  config.depths = std::move(depths);
  config.bn_eps = bn_eps;
  return config;
}

EfficientNetConfig miniature() {
  EfficientNetConfig config = variant(64, 8, {8, 8, 16, 24}, {1, 2, 1, 1}, 1e-3f);
  config.classes = 10;
  config.expand_ratios = {1, 4, 4, 6};
  config.kernels = {3, 3, 5, 3};
  config.strides = {1, 2, 2, 2};
  config.padding = Padding::kSame;
  return config;
}

Recipe recipe(int resize, int crop) {
  Recipe recipe;
  recipe.resize = resize;
  recipe.crop = crop;
  return recipe;
}

}  // namespace

Family efficientnet_family() {
  return {
      .name = "efficientnet",
      .base = "efficientnet_b3",
      .models =
          {
              {"efficientnet_b3",
               variant(300, 40, {24, 32, 48, 96, 136, 232, 384}, {2, 3, 3, 5, 5, 6, 2}, 1e-5f),
               recipe(320, 300), "for 300 x 300", "12M", "1.8G"},
              {"efficientnet_b4",
               variant(380, 48, {24, 32, 56, 112, 160, 272, 448}, {2, 4, 4, 6, 6, 8, 2}, 1e-5f),
               recipe(384, 380), "for 380 x 380", "19M", "4.2G"},
              {"efficientnet_b5",
               variant(456, 48, {24, 40, 64, 128, 176, 304, 512}, {3, 5, 5, 7, 7, 9, 3}, 1e-3f),
               recipe(456, 456), "for 456 x 456", "30M", "9.9G"},
              {"efficientnet_b6",
               variant(528, 56, {32, 40, 72, 144, 200, 344, 576}, {3, 6, 6, 8, 8, 11, 3}, 1e-3f),
               recipe(528, 528), "for 528 x 528", "43M", "19.0G"},
              {"efficientnet_b7",
               variant(600, 64, {32, 48, 80, 160, 224, 384, 640}, {4, 7, 7, 10, 10, 13, 4}, 1e-3f),
               recipe(600, 600), "for 600 x 600", "66M", "37.0G"},
              {"test_efficientnet", miniature(), recipe(64, 64), "miniature for tests"},
          },
      .buffers = {".num_batches_tracked"},
      .argument_fields = {{"expand_ratio", "expand_ratios"},
                          {"kernel", "kernels"},
                          {"stride_of_first_block", "strides"},
                          {"out_channels", "widths"},
                          {"layers", "depths"}},
      .fixed_arguments = {{"in_channels", ""}},
      .argument_values = {{"symmetric (k-1)/2", "symmetric"}, {"SAME (asymmetric)", "same"}}};
}

}  // namespace vig
