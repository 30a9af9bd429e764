// RegNetY: Designing Network Design Spaces, as torchvision and timm build it.
//
// Stages of w channels, each of which halves the grid; groups of g channels; q squeezed ones.
// x = relu(norm(conv 3 x 3(image)));
// x = relu(shortcut(x) + norm(1 x 1(gate(relu(norm(3 x 3 in groups(relu(norm(1 x 1(x))))))))));
// fc(mean(x)). Parameter names are torchvision's.
#include <cmath>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

struct RegNetConfig : ConfigOf<RegNetConfig> {
  int stem_width = 32;
  std::vector<int> widths = {128, 192, 512, 1088};
  std::vector<int> depths = {2, 6, 12, 2};
  std::vector<int> group_widths = {64, 64, 64, 64};
  float se_ratio = 0.25f;  // squeezed channels to those of the block's input
  float bn_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("stem_width", stem_width);
    visitor.visit("widths", widths);
    visitor.visit("depths", depths);
    visitor.visit("group_widths", group_widths);
    visitor.visit("se_ratio", se_ratio);
    visitor.visit("bn_eps", bn_eps);
  }
  int64_t blocks() const override { return sum_of(depths); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "fc.weight");
  }
};

class Network {
 public:
  explicit Network(const RegNetConfig& config) : config_(config) {}

  Graph build(int height, int width) {
    Value x = b_.input("image", {height, width, 3});
    x = relu(conv_norm(x, "stem", config_.stem_width, {.kernel = 3, .stride = 2, .padding = 1}));
    b_.named(x, "stem");
    const int count = static_cast<int>(config_.blocks());
    int number = 0;
    for (size_t s = 0; s < config_.widths.size(); ++s) {
      const std::string stage = fmt::format("trunk_output.block{}", s + 1);
      for (int i = 0; i < config_.depths[s]; ++i) {
        const std::string name = fmt::format("{}.block{}-{}", stage, s + 1, i);
        x = block(x, name, s, i == 0 ? 2 : 1, drop_rate(config_.drop_path, number++, count));
      }
      b_.output(fmt::format("stage{}", s), b_.named(x, stage));
    }
    b_.next_level();
    classifier_outputs(b_, x, "fc", config_.classes, normal_init(0.01f));
    return std::move(b_).finish();
  }

 private:
  Value conv_norm(Value x, const std::string& name, int channels, Builder::ConvShape shape) {
    return vig::conv_norm(b_, x, name + ".0", name + ".1", channels, shape, config_.bn_eps);
  }

  Value relu(Value x) { return b_.activation(x, Elementwise::kRelu); }

  Value block(Value x, const std::string& name, size_t stage, int stride, double rate) {
    b_.next_level();
    const int in = b_.grid(x).channels, width = config_.widths[stage];
    const std::string f = name + ".f";
    Value y = relu(conv_norm(x, f + ".a", width, {}));
    y = relu(conv_norm(y, f + ".b", width,
                       {.kernel = 3,
                        .stride = stride,
                        .padding = 1,
                        .groups = width / config_.group_widths[stage]}));
    // Before the last convolution, which adds it.
    if (in != width || stride > 1) {
      const std::string proj = name + ".proj";
      x = b_.named(conv_norm(x, proj, width, {.stride = stride}), proj);
    }
    SqueezeExcite gate;
    gate.reduce = f + ".se.fc1";
    gate.expand = f + ".se.fc2";
    // Rounds half to even.
    gate.width =
        std::max(1, static_cast<int>(std::lrint(config_.se_ratio * static_cast<float>(in))));
    y = b_.named(squeeze_excite(b_, y, gate), f + ".se");
    y = conv_norm(y, f + ".c", width, {});
    b_.named(y, f);
    return b_.named(relu(b_.residual(x, y, rate)), name);
  }

  const RegNetConfig& config_;
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

// ---- what others publish ------------------------------------------------------------------

constexpr NameRule kTimmNames[] = {
    {"^stem.conv", "stem.0"},
    {"^stem.bn", "stem.1"},
    {"^s#.b#", "trunk_output.block#1.block#1-#2-1"},
    {"conv1.conv", "f.a.0"},
    {"conv1.bn", "f.a.1"},
    {"conv2.conv", "f.b.0"},
    {"conv2.bn", "f.b.1"},
    {"conv3.conv", "f.c.0"},
    {"conv3.bn", "f.c.1"},
    {"se", "f.se"},
    {"downsample.conv", "proj.0"},
    {"downsample.bn", "proj.1"},
    {"^head.fc", "fc"},
};

// The first weights of torchvision, and those of its newer recipe.
std::vector<PublishedRecipe> recipes() {
  const struct {
    std::string_view model, first, second;
  } kTrained[] = {
      {"regnety_400m", "regnet_y_400mf-c65dace8", "regnet_y_400mf-e6988f5f"},
      {"regnety_800m_tv", "regnet_y_800mf-1b27b58c", "regnet_y_800mf-58fc7688"},
      {"regnety_1_6g", "regnet_y_1_6gf-b11a554e", "regnet_y_1_6gf-0d7bc02a"},
      {"regnety_3_2g", "regnet_y_3_2gf-b5a9779c", "regnet_y_3_2gf-9180c971"},
      {"regnety_8g_tv", "regnet_y_8gf-d0d0e4a8", "regnet_y_8gf-dc2b1b54"},
      {"regnety_16g", "regnet_y_16gf-9e6ed7dd", "regnet_y_16gf-3e4a00f9"},
      {"regnety_32g", "regnet_y_32gf-4dee3f7a", "regnet_y_32gf-8db6d4b5"},
  };
  std::vector<PublishedRecipe> all;
  for (const auto& row : kTrained) {
    all.push_back({row.model, kTorchvision, row.first, bilinear_crop(256, 224)});
    all.push_back({row.model, kTorchvision, row.second, bilinear_crop(232, 224)});
  }
  all.insert(all.end(),
             {{"regnety_16g", kTorchvision, "regnet_y_16gf_swag-", bicubic_crop(384, 384)},
              {"regnety_16g", kTorchvision, "regnet_y_16gf_lc_swag-", bicubic_crop(224, 224)},
              {"regnety_32g", kTorchvision, "regnet_y_32gf_swag-", bicubic_crop(384, 384)},
              {"regnety_32g", kTorchvision, "regnet_y_32gf_lc_swag-", bicubic_crop(224, 224)},
              {"regnety_128g", kTorchvision, "regnet_y_128gf_swag-", bicubic_crop(384, 384)},
              {"regnety_128g", kTorchvision, "regnet_y_128gf_lc_swag-", bicubic_crop(224, 224)}});
  for (std::string_view model : {"regnety_3_2g", "regnety_4g", "regnety_6_4g", "regnety_8g"}) {
    all.push_back({model, kTimm, "", bicubic_crop(235, 224)});
  }
  for (std::string_view model : {"regnety_200m", "regnety_400m", "regnety_600m", "regnety_800m",
                                 "regnety_1_6g", "regnety_12g", "regnety_16g", "regnety_32g"}) {
    all.push_back({model, kTimm, "", bicubic_crop(256, 224)});
  }
  return all;
}

}  // namespace

Family regnet_family() {
  const Recipe bilinear = bilinear_crop(256, 224);
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
          .imported =
              {
                  {"regnety_200m", variant({24, 56, 152, 368}, {1, 1, 4, 7}, 8), bilinear,
                   "RegNetY-200MF"},
                  {"regnety_400m", variant({48, 104, 208, 440}, {1, 3, 6, 6}, 8), bilinear,
                   "RegNetY-400MF"},
                  {"regnety_600m", variant({48, 112, 256, 608}, {1, 3, 7, 4}, 16), bilinear,
                   "RegNetY-600MF"},
                  {"regnety_800m", variant({64, 128, 320, 768}, {1, 3, 8, 2}, 16), bilinear,
                   "RegNetY-800MF, the paper's and timm's widths"},
                  {"regnety_800m_tv", variant({64, 144, 320, 784}, {1, 3, 8, 2}, 16), bilinear,
                   "RegNetY-800MF, torchvision's widths"},
                  {"regnety_1_6g", variant({48, 120, 336, 888}, {2, 6, 17, 2}, 24), bilinear,
                   "RegNetY-1.6GF"},
                  {"regnety_3_2g", variant({72, 216, 576, 1512}, {2, 5, 13, 1}, 24), bilinear,
                   "RegNetY-3.2GF"},
                  {"regnety_6_4g", variant({144, 288, 576, 1296}, {2, 7, 14, 2}, 72), bilinear,
                   "RegNetY-6.4GF"},
                  {"regnety_12g", variant({224, 448, 896, 2240}, {2, 5, 11, 1}, 112), bilinear,
                   "RegNetY-12GF"},
                  {"regnety_32g", variant({232, 696, 1392, 3712}, {2, 5, 12, 1}, 232), bilinear,
                   "RegNetY-32GF"},
                  {"regnety_128g", variant({528, 1056, 2904, 7392}, {2, 7, 17, 1}, 264), bilinear,
                   "RegNetY-128GF"},
              },
          .buffers = {".num_batches_tracked"},
          .publisher = kTorchvision,
          .names = {{kTimm, "stem.conv.weight", kTimmNames}},
          .recipes = recipes(),
          .timm_networks = {"regnety_"},
          .fixed_arguments = {{"bottleneck_multiplier", "1.0"}, {"strides", "2,2,2,2"}}};
}

}  // namespace vig
