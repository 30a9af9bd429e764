// ResNet: Deep Residual Learning for Image Recognition, as torchvision builds it ("v1.5": the
// stride sits in the 3 x 3 convolution).
//
// w planes of the stem; stage s has planes p = 2^s w and blocks of e p channels.
// x = pool(relu(norm(conv(image))));  x = relu(shortcut(x) + block(x));  fc(mean(x)).
// Parameter names are torchvision's.

#include "vig/base/error.h"
#include "vig/models/blocks.h"
#include "vig/models/family.h"

namespace vig {
namespace {

struct ResNetConfig : ConfigOf<ResNetConfig> {
  int base_planes = 64;
  int expansion = 4;
  std::vector<int> layers = {3, 4, 6, 3};
  float bn_eps = 1e-5f;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("base_planes", base_planes);
    visitor.visit("expansion", expansion);
    visitor.visit("layers", layers);
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
        x = bottleneck(x, fmt::format("{}.{}", layer, i), w << s, s > 0 && i == 0 ? 2 : 1, i == 0,
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

  Value bottleneck(Value x, const std::string& name, int planes, int stride, bool project,
                   double rate) {
    b_.next_level();
    const int channels = widened(name, "expansion", config_.expansion, planes);
    Value y = relu(conv_norm(x, name + ".conv1", name + ".bn1", planes, {}));
    // Before the last convolution, which adds it.
    if (project) {
      x = conv_norm(x, name + ".downsample.0", name + ".downsample.1", channels,
                    {.stride = stride});
    }
    y = relu(conv_norm(y, name + ".conv2", name + ".bn2", planes,
                       {.kernel = 3, .stride = stride, .padding = 1}));
    y = conv_norm(y, name + ".conv3", name + ".bn3", channels, {});
    return b_.named(relu(b_.residual(x, y, rate)), name);
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
  return Network(*this).build(height, width);
}

// ---- the models ---------------------------------------------------------------------------

ResNetConfig miniature() {
  ResNetConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.base_planes = 8;
  config.layers = {1, 2, 1, 1};
  return config;
}

}  // namespace

Family resnet_family() {
  Recipe bilinear;
  bilinear.interpolation = Interpolation::kBilinear;
  return {.name = "resnet",
          .base = "resnet50",
          .models =
              {
                  {"resnet50", ResNetConfig(), bilinear, "50 layers, stride in the 3 x 3"},
                  {"test_resnet", miniature(), bilinear.with_size(64), "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"}};
}

}  // namespace vig
