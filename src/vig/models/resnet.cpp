// ResNet: Deep Residual Learning for Image Recognition, as torchvision builds it ("v1.5": the
// stride sits in the 3 x 3 convolution).
//
// w planes of the stem; stage s has planes p = 2^s w and blocks of e p channels.
// x = pool(relu(norm(conv(image))));  x = relu(shortcut(x) + block(x));  fc(mean(x)).
// A block is two 3 x 3 convolutions (basic), or a 3 x 3 one between two of 1 x 1 (bottleneck),
// which is wider in wide networks and has groups in ResNeXt. Parameter names are torchvision's and
// timm's.
#include <array>

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

enum class Block { kBottleneck, kBasic };
constexpr std::array<std::string_view, 2> kBlockNames = {"bottleneck", "basic"};

struct ResNetConfig : ConfigOf<ResNetConfig> {
  int base_planes = 64;
  int expansion = 4;
  std::vector<int> layers = {3, 4, 6, 3};
  Block block = Block::kBottleneck;
  // Of the 3 x 3 convolution of a bottleneck. A group of 64 channels has as many as the planes.
  int groups = 1;
  int group_width = 64;
  float bn_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("base_planes", base_planes);
    visitor.visit("expansion", expansion);
    visitor.visit("layers", layers);
    visitor.visit("block", block, kBlockNames);
    visitor.visit("groups", groups);
    visitor.visit("group_width", group_width);
    visitor.visit("bn_eps", bn_eps);
  }
  int64_t blocks() const override { return sum_of(layers); }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "fc.weight");
  }
};

class Network {
 public:
  explicit Network(const ResNetConfig& config) : config_(config) {}

  Graph build(int height, int width) {
    const int w = config_.base_planes;
    Value x = b_.input("image", {height, width, 3});
    x = conv_norm(x, "conv1", "bn1", w, {.kernel = 7, .stride = 2, .padding = 3});
    x = relu(b_.named(x, "bn1"));
    x = b_.named(b_.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1}), "maxpool");
    const int count = static_cast<int>(config_.blocks());
    int number = 0;
    for (size_t s = 0; s < config_.layers.size(); ++s) {
      const std::string layer = fmt::format("layer{}", s + 1);
      for (int i = 0; i < config_.layers[s]; ++i) {
        x = block(x, fmt::format("{}.{}", layer, i), w << s, s > 0 && i == 0 ? 2 : 1,
                  drop_rate(config_.drop_path, number++, count));
      }
      b_.output(fmt::format("stage{}", s), b_.named(x, layer));
    }
    b_.next_level();
    const int64_t fan = b_.grid(x).channels;
    classifier_outputs(b_, x, "fc", config_.classes, fan_in_uniform(fan), fan_in_uniform(fan));
    return std::move(b_).finish();
  }

 private:
  Value conv_norm(Value x, const std::string& conv, const std::string& norm, int channels,
                  Builder::ConvShape shape) {
    return vig::conv_norm(b_, x, conv, norm, channels, shape, config_.bn_eps);
  }

  Value relu(Value x) { return b_.activation(x, Elementwise::kRelu); }

  Value block(Value x, const std::string& name, int planes, int stride, double rate) {
    b_.next_level();
    const bool basic = config_.block == Block::kBasic;
    const int channels = widened(name, "expansion", config_.expansion, planes);
    const int in = b_.grid(x).channels;
    const Builder::ConvShape small = {}, large = {.kernel = 3, .stride = stride, .padding = 1};
    const int inner = basic ? planes : inner_width(name, planes);
    Value y = relu(conv_norm(x, name + ".conv1", name + ".bn1", inner, basic ? large : small));
    // Before the last convolution, which adds it.
    if (stride > 1 || in != channels) {
      x = conv_norm(x, name + ".downsample.0", name + ".downsample.1", channels,
                    {.stride = stride});
    }
    if (basic) {
      y = conv_norm(y, name + ".conv2", name + ".bn2", channels, {.kernel = 3, .padding = 1});
      return b_.named(relu(b_.residual(x, y, rate)), name);
    }
    Builder::ConvShape grouped = large;
    grouped.groups = config_.groups;
    y = relu(conv_norm(y, name + ".conv2", name + ".bn2", inner, grouped));
    y = conv_norm(y, name + ".conv3", name + ".bn3", channels, small);
    return b_.named(relu(b_.residual(x, y, rate)), name);
  }

  // Of the 3 x 3 convolution of a bottleneck.
  int inner_width(const std::string& name, int planes) const {
    const int64_t group = int64_t{planes} * config_.group_width / 64;
    check_width(name, "groups", config_.groups, group);
    return static_cast<int>(config_.groups * group);
  }

  const ResNetConfig& config_;
  Builder b_;
};

Graph ResNetConfig::build(int height, int width) const {
  if (base_planes < 1 || expansion < 1 || layers.empty() || layers.size() > 8) {
    fail_usage(
        "[resnet] base_planes={}, expansion={} and {} stages, expected at least 1 of each "
        "and at most 8 stages",
        base_planes, expansion, layers.size());
  }
  if (int64_t{base_planes} * group_width < 64) {
    fail_usage("[resnet] base_planes={} and group_width={}, expected a product of 64 or more",
               base_planes, group_width);
  }
  return Network(*this).build(height, width);
}

// ---- the models ---------------------------------------------------------------------------

ResNetConfig variant(std::vector<int> layers, int groups = 1, int group_width = 64) {
  ResNetConfig config;
  config.layers = std::move(layers);
  config.groups = groups;
  config.group_width = group_width;
  return config;
}

ResNetConfig basic(std::vector<int> layers) {
  ResNetConfig config = variant(std::move(layers));
  config.block = Block::kBasic;
  config.expansion = 1;
  return config;
}

ResNetConfig miniature() {
  ResNetConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.base_planes = 8;
  config.layers = {1, 2, 1, 1};
  return config;
}

// The first weights of torchvision are those of `resnet50` and so on; these follow a newer recipe.
std::vector<PublishedRecipe> recipes() {
  std::vector<PublishedRecipe> all;
  const std::pair<std::string_view, std::string_view> kSecond[] = {
      {"resnet50", "resnet50-11ad3fa6"},
      {"resnet101", "resnet101-cd907fc2"},
      {"resnet152", "resnet152-f82ba261"},
      {"resnext50_32x4d", "resnext50_32x4d-1a0047aa"},
      {"resnext101_32x8d", "resnext101_32x8d-110c445d"},
      {"wide_resnet50_2", "wide_resnet50_2-9ba9bcbe"},
      {"wide_resnet101_2", "wide_resnet101_2-d733dc28"},
  };
  for (const auto& [model, file] : kSecond) {
    all.push_back({model, kTorchvision, "", bilinear_crop(256, 224)});
    all.push_back({model, kTorchvision, file, bilinear_crop(232, 224)});
  }
  return all;
}

}  // namespace

Family resnet_family() {
  const Recipe bilinear = bilinear_crop(256, 224);
  const std::vector<int> deep = {3, 4, 23, 3};
  return {.name = "resnet",
          .base = "resnet50",
          .models =
              {
                  {"resnet50", ResNetConfig(), bilinear, "50 layers, stride in the 3 x 3"},
                  {"test_resnet", miniature(), bilinear.with_size(64), "miniature for tests"},
              },
          .imported =
              {
                  {"resnet18", basic({2, 2, 2, 2}), bilinear, "18 layers"},
                  {"resnet34", basic({3, 4, 6, 3}), bilinear, "34 layers"},
                  {"resnet101", variant(deep), bilinear, "101 layers"},
                  {"resnet152", variant({3, 8, 36, 3}), bilinear, "152 layers"},
                  {"resnext50_32x4d", variant({3, 4, 6, 3}, 32, 4), bilinear, "ResNeXt-50"},
                  {"resnext101_32x8d", variant(deep, 32, 8), bilinear, "ResNeXt-101"},
                  {"resnext101_64x4d", variant(deep, 64, 4), bilinear_crop(232, 224),
                   "ResNeXt-101, 64 groups"},
                  {"wide_resnet50_2", variant({3, 4, 6, 3}, 1, 128), bilinear, "Wide ResNet-50"},
                  {"wide_resnet101_2", variant(deep, 1, 128), bilinear, "Wide ResNet-101"},
              },
          .buffers = {".num_batches_tracked"},
          .publisher = kTorchvision,
          .recipes = recipes(),
          .timm_networks = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext",
                            "wide_resnet"}};
}

}  // namespace vig
