// RegNetY: Designing Network Design Spaces, as torchvision and timm build it.
//
// Stages of w channels, each of which halves the grid; groups of g channels; q squeezed ones.
// x = relu(norm(conv 3 x 3(image)));
// x = relu(shortcut(x) + norm(1 x 1(gate(relu(norm(3 x 3 in groups(relu(norm(1 x 1(x))))))))));
// fc(mean(x)). Parameter names are torchvision's or timm's.
#include <array>
#include <cmath>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

enum class Names { kTorchvision, kTimm };
constexpr std::array<std::string_view, 2> kNamesNames = {"torchvision", "timm"};

struct RegNetConfig : ConfigOf<RegNetConfig> {
  int stem_width = 32;
  std::vector<int> widths = {128, 192, 512, 1088};
  std::vector<int> depths = {2, 6, 12, 2};
  std::vector<int> group_widths = {64, 64, 64, 64};
  float se_ratio = 0.25f;  // squeezed channels to those of the block's input
  float bn_eps = 1e-5f;
  Names names = Names::kTorchvision;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("stem_width", stem_width);
    visitor.visit("widths", widths);
    visitor.visit("depths", depths);
    visitor.visit("group_widths", group_widths);
    visitor.visit("se_ratio", se_ratio);
    visitor.visit("bn_eps", bn_eps);
    visitor.visit("names", names, kNamesNames);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    const bool timm = shapes("stem.conv.weight") != nullptr;
    auto fields = classes_shown_by(shapes, timm ? "head.fc.weight" : "fc.weight");
    fields["names"] = kNamesNames[timm ? 1 : 0];
    return fields;
  }
};

class Network {
 public:
  explicit Network(const RegNetConfig& config)
      : config_(config), timm_(config.names == Names::kTimm) {}

  Graph build(int height, int width) {
    Value x = b_.input("image", {height, width, 3});
    x = relu(conv_norm(x, "stem", config_.stem_width, {.kernel = 3, .stride = 2, .padding = 1}));
    b_.named(x, "stem");
    const int count = static_cast<int>(config_.blocks());
    int number = 0;
    for (size_t s = 0; s < config_.widths.size(); ++s) {
      const std::string stage =
          timm_ ? fmt::format("s{}", s + 1) : fmt::format("trunk_output.block{}", s + 1);
      for (int i = 0; i < config_.depths[s]; ++i) {
        const std::string name = timm_ ? fmt::format("{}.b{}", stage, i + 1)
                                       : fmt::format("{}.block{}-{}", stage, s + 1, i);
        x = block(x, name, s, i == 0 ? 2 : 1, drop_rate(config_.drop_path, number++, count));
      }
      b_.output(fmt::format("stage{}", s), b_.named(x, stage));
    }
    b_.next_level();
    classifier_outputs(b_, x, timm_ ? "head.fc" : "fc", config_.classes, normal_init(0.01f));
    return std::move(b_).finish();
  }

 private:
  Value conv_norm(Value x, const std::string& name, int channels, Builder::ConvShape shape) {
    return vig::conv_norm(b_, x, name + (timm_ ? ".conv" : ".0"), name + (timm_ ? ".bn" : ".1"),
                          channels, shape, config_.bn_eps);
  }

  Value relu(Value x) { return b_.activation(x, Elementwise::kRelu); }

  Value block(Value x, const std::string& name, size_t stage, int stride, double rate) {
    b_.next_level();
    const int in = b_.grid(x).channels, width = config_.widths[stage];
    const std::string f = name + (timm_ ? "" : ".f");
    Value y = relu(conv_norm(x, f + (timm_ ? ".conv1" : ".a"), width, {}));
    y = relu(conv_norm(y, f + (timm_ ? ".conv2" : ".b"), width,
                       {.kernel = 3,
                        .stride = stride,
                        .padding = 1,
                        .groups = width / config_.group_widths[stage]}));
    // Before the last convolution, which adds it.
    if (in != width || stride > 1) {
      const std::string proj = name + (timm_ ? ".downsample" : ".proj");
      x = b_.named(conv_norm(x, proj, width, {.stride = stride}), proj);
    }
    SqueezeExcite gate;
    gate.reduce = f + ".se.fc1";
    gate.expand = f + ".se.fc2";
    // Rounds half to even.
    gate.width =
        std::max(1, static_cast<int>(std::lrint(config_.se_ratio * static_cast<float>(in))));
    y = b_.named(squeeze_excite(b_, y, gate), f + ".se");
    y = conv_norm(y, f + (timm_ ? ".conv3" : ".c"), width, {});
    if (!timm_) b_.named(y, f);
    return b_.named(relu(b_.residual(x, y, rate)), name);
  }

  const RegNetConfig& config_;
  bool timm_;
  Builder b_;
};

Graph RegNetConfig::build(int height, int width) const {
  if (widths.empty() || widths.size() != depths.size() || widths.size() != group_widths.size()) {
    fail_usage(
        "[regnet] {} widths, {} depths and {} group_widths, expected the same number of stages; "
        "give all by --set FIELD=VALUE",
        widths.size(), depths.size(), group_widths.size());
  }
  for (size_t s = 0; s < widths.size(); ++s) {
    if (widths[s] % group_widths[s] != 0) {
      fail_usage("[regnet] {} channels do not split into groups of {} (stage {})", widths[s],
                 group_widths[s], s);
    }
  }
  return Network(*this).build(height, width);
}

// ---- the models ---------------------------------------------------------------------------

RegNetConfig variant(std::vector<int> widths, std::vector<int> depths, int group) {
  RegNetConfig config;
  config.group_widths.assign(widths.size(), group);
  config.widths = std::move(widths);
  config.depths = std::move(depths);
  return config;
}

RegNetConfig miniature() {
  RegNetConfig config = variant({16, 24, 48, 56}, {1, 2, 1, 1}, 8);
  config.classes = 10;
  config.image_size = 64;
  config.stem_width = 24;  // six squeezed channels, so that a ReLU leaves some
  return config;
}

}  // namespace

Family regnet_family() {
  Recipe bilinear;
  bilinear.interpolation = Interpolation::kBilinear;
  return {.name = "regnet",
          .base = "regnety_4g",
          .models =
              {
                  {"regnety_4g", variant({128, 192, 512, 1088}, {2, 6, 12, 2}, 64), bilinear,
                   "RegNetY-4GF", "", "4G"},
                  {"regnety_8g", variant({168, 448, 896, 2016}, {2, 4, 10, 1}, 56), bilinear,
                   "RegNetY-8GF, the paper's and timm's widths", "", "8G"},
                  {"regnety_8g_tv", variant({224, 448, 896, 2016}, {2, 4, 10, 1}, 56), bilinear,
                   "RegNetY-8GF, torchvision's widths"},
                  {"regnety_16g", variant({224, 448, 1232, 3024}, {2, 4, 11, 1}, 112), bilinear,
                   "RegNetY-16GF", "", "16G"},
                  {"test_regnet", miniature(), bilinear.with_size(64), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .fixed_arguments = {{"bottleneck_multiplier", "1.0"}, {"strides", "2,2,2,2"}}};
}

}  // namespace vig
