// Deep Residual Learning for Image Recognition, in miniature: a stem and two bottlenecks.
//
// w width of the stem; a block has planes p and 4 p channels, and the second halves the grid.
// x = pool(relu(norm(conv(image))));  x = relu(shortcut(x) + block(x));  fc(mean(x)).
// Names of parameters and modules are torchvision's.
#include "foreign/mini_resnet.h"

#include "vig/graph/builder.h"

namespace vig::test {
namespace {

struct MiniResNetConfig : ConfigOf<MiniResNetConfig> {
  int stem_width = 8;

  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("stem_width", stem_width);
  }
  int64_t blocks() const override { return 2; }
  Graph build(int height, int width) const override;
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "fc.weight");
  }
};

// A convolution without bias, and its norm.
Value conv_norm(Builder& b, Value x, const std::string& conv, const std::string& norm, int channels,
                Builder::ConvShape shape) {
  shape.bias = false;
  const Init init = kaiming_normal(int64_t{channels} * shape.kernel * shape.kernel);
  return b.batch_norm(b.conv(x, conv, channels, shape, init), norm);
}

Value relu(Builder& b, Value x) { return b.activation(x, Elementwise::kRelu); }

Value bottleneck(Builder& b, Value x, const std::string& name, int planes, int stride) {
  b.next_level();
  const Value shortcut = conv_norm(b, x, name + ".downsample.0", name + ".downsample.1", 4 * planes,
                                   {.kernel = 1, .stride = stride});
  Value y = relu(b, conv_norm(b, x, name + ".conv1", name + ".bn1", planes, {}));
  y = relu(b, conv_norm(b, y, name + ".conv2", name + ".bn2", planes,
                        {.kernel = 3, .stride = stride, .padding = 1}));
  y = conv_norm(b, y, name + ".conv3", name + ".bn3", 4 * planes, {});
  return relu(b, b.residual(shortcut, y));
}

Graph MiniResNetConfig::build(int height, int width) const {
  const int w = stem_width;
  Builder b;
  Value x = b.input("image", {height, width, 3});
  x = conv_norm(b, x, "conv1", "bn1", w, {.kernel = 7, .stride = 2, .padding = 3});
  x = relu(b, b.named(x, "bn1"));
  x = b.named(b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1}), "maxpool");
  x = b.named(bottleneck(b, x, "layer1.0", w, 1), "layer1");
  b.output("stage0", x);
  x = b.named(bottleneck(b, x, "layer2.0", 2 * w, 2), "layer2");
  b.output("features", x);
  x = b.mean_pool(x);
  b.output("pooled", b.named(x, "avgpool"));
  b.begin_head();
  const Init init = fan_in_uniform(b.grid(x).channels);
  b.output("logits", b.linear(x, "fc", classes, true, init, init));
  return std::move(b).finish();
}

MiniResNetConfig miniature(int width) {
  MiniResNetConfig config;
  config.classes = 10;
  config.image_size = 64;
  config.stem_width = width;
  return config;
}

}  // namespace

Family mini_resnet_family() {
  const Recipe recipe = Recipe().with_size(64);
  return {.name = "mini_resnet",
          .base = "mini_resnet_8",
          .models = {{"mini_resnet_8", miniature(8), recipe, "two bottlenecks"},
                     {"mini_resnet_12", miniature(12), recipe, "two wider bottlenecks"}}};
}

Graph make_mini_resnet(int height, int width) { return miniature(8).build(height, width); }

}  // namespace vig::test
