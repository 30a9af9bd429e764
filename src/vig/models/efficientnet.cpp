// EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, as torchvision and timm
// build it.
//
// Stages of inverted residual blocks: c channels in, e = expansion c inside, w out.
// y = project(gate(silu(norm(depthwise(silu(norm(expand(x))))))));  y += x where stride is 1 and c
// = w. classifier(mean(silu(norm(1 x 1(x))))). Parameter names are torchvision's.
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

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
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.1.weight");
  }
};

class Network {
 public:
  explicit Network(const EfficientNetConfig& config) : config_(config) {}

  Graph build(int height, int width) {
    Value x = b_.input("image", {height, width, 3});
    x = conv_norm(x, "features.0", config_.stem_channels,
                  {.kernel = 3, .stride = 2, .padding = padding(3)});
    x = b_.named(silu(x), "features.0");
    const auto count = static_cast<double>(config_.blocks());
    int number = 0;
    for (size_t s = 0; s < config_.widths.size(); ++s) {
      const std::string stage = fmt::format("features.{}", s + 1);
      for (int i = 0; i < config_.depths[s]; ++i) {
        x = block(x, fmt::format("{}.{}", stage, i), s, i == 0 ? config_.strides[s] : 1,
                  config_.drop_path * number++ / count);
      }
      b_.output(fmt::format("stage{}", s), b_.named(x, stage));
    }
    b_.next_level();
    const std::string last = fmt::format("features.{}", config_.widths.size() + 1);
    x = b_.named(silu(conv_norm(x, last, config_.last_channels, {})), last);
    classifier_outputs(b_, x, "classifier.1", config_.classes, fan_in_uniform(config_.classes));
    return std::move(b_).finish();
  }

 private:
  int padding(int kernel) const {
    return config_.padding == Padding::kSame ? kSamePadding : (kernel - 1) / 2;
  }
  Value silu(Value x) { return b_.activation(x, Elementwise::kSilu); }

  // Parameters `name`.0 and `name`.1.
  Value conv_norm(Value x, const std::string& name, int channels, Builder::ConvShape shape) {
    shape.bias = false;
    const Init init = kaiming_normal(int64_t{channels} * shape.kernel * shape.kernel);
    x = b_.named(b_.conv(x, name + ".0", channels, shape, init), name + ".0");
    return b_.batch_norm(x, name + ".1", {.eps = config_.bn_eps});
  }

  Value block(Value x, const std::string& name, size_t stage, int stride, double rate) {
    b_.next_level();
    const int in = b_.grid(x).channels, width = config_.widths[stage];
    const int inside = widened(name, "expand_ratios", config_.expand_ratios[stage], in);
    const int kernel = config_.kernels[stage];
    // The layers are numbered: the expansion, where there is one, first.
    int number = 0;
    const auto layer = [&] { return fmt::format("{}.block.{}", name, number++); };
    Value y = x;
    if (inside != in) y = silu(conv_norm(y, layer(), inside, {}));
    const Init filter = kaiming_normal(int64_t{inside} * kernel * kernel);
    const std::string depthwise = layer();
    y = b_.depthwise_conv(y, depthwise + ".0",
                          {.kernel = kernel, .stride = stride, .padding = padding(kernel)}, filter);
    y = silu(b_.batch_norm(y, depthwise + ".1", {.eps = config_.bn_eps}));
    const std::string squeeze = layer();
    SqueezeExcite gate;
    gate.reduce = squeeze + ".fc1";
    gate.expand = squeeze + ".fc2";
    gate.width = std::max(1, in / 4);
    gate.function = Elementwise::kSilu;
    gate.zero_bias = true;
    y = b_.named(squeeze_excite(b_, y, gate), squeeze);
    y = conv_norm(y, layer(), width, {});
    if (stride == 1 && in == width) y = b_.residual(x, y, rate);
    return b_.named(y, name);
  }

  const EfficientNetConfig& config_;
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

// ---- what others publish ------------------------------------------------------------------

constexpr NameRule kTimmNames[] = {
    {"^conv_stem", "features.0.0"},
    {"^bn1", "features.0.1"},
    {"^blocks.0.#.conv_dw", "features.1.#1.block.0.0"},
    {"^blocks.0.#.bn1", "features.1.#1.block.0.1"},
    {"^blocks.0.#.se", "features.1.#1.block.1"},
    {"^blocks.0.#.conv_pw", "features.1.#1.block.2.0"},
    {"^blocks.0.#.bn2", "features.1.#1.block.2.1"},
    {"^blocks.#.#.conv_pw", "features.#1+1.#2.block.0.0"},
    {"^blocks.#.#.bn1", "features.#1+1.#2.block.0.1"},
    {"^blocks.#.#.conv_dw", "features.#1+1.#2.block.1.0"},
    {"^blocks.#.#.bn2", "features.#1+1.#2.block.1.1"},
    {"^blocks.#.#.se", "features.#1+1.#2.block.2"},
    {"^blocks.#.#.conv_pwl", "features.#1+1.#2.block.3.0"},
    {"^blocks.#.#.bn3", "features.#1+1.#2.block.3.1"},
    {"conv_reduce", "fc1"},
    {"conv_expand", "fc2"},
    {"^blocks.#", "features.#1+1"},  // values in golden cases
    {"^conv_head", "features.8.0"},
    {"^bn2", "features.8.1"},
    {"^global_pool", "avgpool"},
    {"^classifier", "classifier.1"},
};

std::vector<PublishedRecipe> recipes() {
  std::vector<PublishedRecipe> all = {
      {"efficientnet_b1", kTorchvision, "efficientnet_b1_rwightman-533bc792",
       bicubic_crop(256, 240)},
      {"efficientnet_b1", kTorchvision, "efficientnet_b1-c27df63c", bilinear_crop(255, 240)},
      {"efficientnet_b0", kTimm, "", bicubic_crop(256, 224)},
      {"efficientnet_b1", kTimm, "", bicubic_crop(256, 224)},
      {"efficientnet_b2", kTimm, "", bicubic_crop(292, 256)},
      {"efficientnet_b3", kTimm, "", bicubic_crop(329, 288)},
      {"efficientnet_b4", kTimm, "", bicubic_crop(365, 320)},
      {"efficientnet_b5", kTimm, "", bicubic_crop(448, 448)}};
  // Made in TensorFlow; those of adversarial training ("ap") see values from -1 to 1.
  const struct {
    std::string_view model, any, ap, tagged_ap;
    int resize, crop;
  } kTensorFlow[] = {
      {"efficientnet_b0", "tf_efficientnet_b0", "tf_efficientnet_b0_ap", "tf_efficientnet_b0.ap",
       256, 224},
      {"efficientnet_b1", "tf_efficientnet_b1", "tf_efficientnet_b1_ap", "tf_efficientnet_b1.ap",
       272, 240},
      {"efficientnet_b2", "tf_efficientnet_b2", "tf_efficientnet_b2_ap", "tf_efficientnet_b2.ap",
       292, 260},
      {"efficientnet_b3", "tf_efficientnet_b3", "tf_efficientnet_b3_ap", "tf_efficientnet_b3.ap",
       331, 300},
      {"efficientnet_b4", "tf_efficientnet_b4", "tf_efficientnet_b4_ap", "tf_efficientnet_b4.ap",
       412, 380},
      {"efficientnet_b5", "tf_efficientnet_b5", "tf_efficientnet_b5_ap", "tf_efficientnet_b5.ap",
       488, 456},
      {"efficientnet_b6", "tf_efficientnet_b6", "tf_efficientnet_b6_ap", "tf_efficientnet_b6.ap",
       560, 528},
      {"efficientnet_b7", "tf_efficientnet_b7", "tf_efficientnet_b7_ap", "tf_efficientnet_b7.ap",
       632, 600},
  };
  for (const auto& row : kTensorFlow) {
    all.push_back({row.model, kTimm, row.any, bicubic_crop(row.resize, row.crop)});
    for (std::string_view begin : {row.ap, row.tagged_ap}) {
      all.push_back({row.model, kTimm, begin, symmetric_crop(row.resize, row.crop)});
    }
  }
  return all;
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
               bicubic_crop(320, 300), "for 300 x 300", "12M", "1.8G"},
              {"efficientnet_b4",
               variant(380, 48, {24, 32, 56, 112, 160, 272, 448}, {2, 4, 4, 6, 6, 8, 2}, 1e-5f),
               bicubic_crop(384, 380), "for 380 x 380", "19M", "4.2G"},
              {"efficientnet_b5",
               variant(456, 48, {24, 40, 64, 128, 176, 304, 512}, {3, 5, 5, 7, 7, 9, 3}, 1e-3f),
               bicubic_crop(456, 456), "for 456 x 456", "30M", "9.9G"},
              {"efficientnet_b6",
               variant(528, 56, {32, 40, 72, 144, 200, 344, 576}, {3, 6, 6, 8, 8, 11, 3}, 1e-3f),
               bicubic_crop(528, 528), "for 528 x 528", "43M", "19.0G"},
              {"efficientnet_b7",
               variant(600, 64, {32, 48, 80, 160, 224, 384, 640}, {4, 7, 7, 10, 10, 13, 4}, 1e-3f),
               bicubic_crop(600, 600), "for 600 x 600", "66M", "37.0G"},
              {"test_efficientnet", miniature(), bicubic_crop(64, 64), "miniature for tests"},
          },
      .imported =
          {
              {"efficientnet_b0",
               variant(224, 32, {16, 24, 40, 80, 112, 192, 320}, {1, 2, 2, 3, 3, 4, 1}, 1e-5f),
               bicubic_crop(256, 224), "for 224 x 224"},
              {"efficientnet_b1",
               variant(240, 32, {16, 24, 40, 80, 112, 192, 320}, {2, 3, 3, 4, 4, 5, 2}, 1e-5f),
               bicubic_crop(256, 240), "for 240 x 240"},
              {"efficientnet_b2",
               variant(288, 32, {16, 24, 48, 88, 120, 208, 352}, {2, 3, 3, 4, 4, 5, 2}, 1e-5f),
               bicubic_crop(288, 288), "for 288 x 288"},
          },
      .buffers = {".num_batches_tracked"},
      .publisher = kTorchvision,
      .names = {{kTimm, "conv_stem.weight", kTimmNames}},
      .published_fields = {{kTimm, "", {{"bn_eps", "1e-05"}}},
                           {kTimm, "tf_", {{"bn_eps", "0.001"}, {"padding", "same"}}}},
      .recipes = recipes(),
      .timm_networks = {"efficientnet_b", "tf_efficientnet_b"},
      .argument_fields = {{"expand_ratio", "expand_ratios"},
                          {"kernel", "kernels"},
                          {"stride_of_first_block", "strides"},
                          {"out_channels", "widths"},
                          {"layers", "depths"}},
      .fixed_arguments = {{"in_channels", ""}},
      .argument_values = {{"symmetric (k-1)/2", "symmetric"}, {"SAME (asymmetric)", "same"}}};
}

}  // namespace vig
