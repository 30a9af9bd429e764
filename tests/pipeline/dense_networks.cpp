#include "pipeline/dense_networks.h"

#include <filesystem>

#include "pipeline/fixtures.h"
#include "vig/graph/builder.h"
#include "vig/pipeline/save_model.h"
#include "vig/weights/elements.h"
#include "vig/weights/model_info.h"

namespace vig::test {
namespace {

constexpr Init kInit = normal_init(0.2f);

Value conv(Builder& b, Value x, const std::string& name, int channels, int stride = 1) {
  const Builder::ConvShape shape{.kernel = 3, .stride = stride, .padding = 1};
  return b.activation(b.conv(x, name, channels, shape, kInit, kInit), Elementwise::kRelu);
}

struct SegmenterConfig : ConfigOf<SegmenterConfig> {
  SegmenterConfig() { classes = 4; }
  void visit_fields(FieldVisitor& visitor) override { visit_common(visitor); }
  int64_t blocks() const override { return 1; }
  ModelTask task() const override { return ModelTask::kSegment; }
  Graph build(int height, int width) const override {
    Builder b;
    Value x = conv(b, b.input("image", {height, width, 3}), "first", 8, 2);
    x = conv(b, x, "second", 8, 2);
    b.output("logits", b.conv(x, "third", classes, {}, kInit, kInit));
    return std::move(b).finish();
  }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes&) const override {
    return {};
  }
};

struct SlideConfig : SegmenterConfig {
  std::unique_ptr<ModelConfig> clone() const override {
    return std::make_unique<SlideConfig>(*this);
  }
  Graph build(int height, int width) const override {
    Builder b;
    const Value x = b.activation(b.input("image", {height, width, 3}), Elementwise::kRelu);
    b.output("logits", b.conv(x, "conv", classes, {.kernel = 3, .padding = 1}));
    return std::move(b).finish();
  }
};

struct MiniDetectorConfig : ConfigOf<MiniDetectorConfig> {
  static constexpr int kChannels = 6;
  DetectorConfig config_;

  MiniDetectorConfig() {
    classes = 3;
    config_.anchor_scale = 2;
    config_.finest_scale = 8;
  }
  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    visitor.visit("proposals", config_.proposals);
  }
  int64_t blocks() const override { return 1; }
  ModelTask task() const override { return ModelTask::kDetect; }
  const DetectorConfig* detector() const override { return &config_; }
  Graph build(int height, int width) const override {
    Builder b;
    Value x = conv(b, b.input("image", {height, width, 3}), "stem", kChannels, 2);
    for (int level = 0; level < 5; ++level) {
      x = conv(b, x, "level" + std::to_string(level), kChannels, 2);
      const std::string number = std::to_string(level);
      if (level < 4) b.output("p" + std::to_string(level + 2), x);
      b.output("rpn_cls" + number, b.conv(x, "rpn_cls", 3, {}, kInit, kInit));
      b.output("rpn_reg" + number, b.conv(x, "rpn_reg", 12, {}, kInit, kInit));
    }
    return std::move(b).finish();
  }
  std::vector<Graph> further_graphs() const override {
    Builder box;
    Value x = box.input("box_features", {7, 7, kChannels});
    x = box.conv(x, "box", 16, {.kernel = 7}, kInit, kInit);
    x = box.activation(x, Elementwise::kRelu);
    box.output("box_cls", box.conv(x, "cls", classes + 1, {}, kInit, kInit));
    box.output("box_reg", box.conv(x, "reg", 4 * classes, {}, kInit, kInit));
    Builder mask;
    Value y = conv(mask, mask.input("mask_features", {14, 14, kChannels}), "mask", kChannels);
    mask.output("mask_logits", mask.conv(y, "masks", classes, {}, kInit, kInit));
    return {std::move(box).finish(), std::move(mask).finish()};
  }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes&) const override {
    return {};
  }
};

Recipe whole_recipe(Framing framing, int size, int longest, int stride) {
  Recipe recipe;
  recipe.framing = framing;
  recipe.resize = size;
  recipe.crop = size;
  recipe.longest = longest;
  recipe.multiple = 32;
  recipe.window_stride = stride;
  recipe.interpolation = Interpolation::kBilinear;
  return recipe;
}

}  // namespace

void add_dense_networks() {
  static const bool added = [] {
    SlideConfig slide;
    slide.image_size = 24;
    Recipe recipe = whole_recipe(Framing::kStretch, 24, 96, 16);
    recipe.multiple = 1;
    add_family({.name = "mini_segmenter",
                .base = "mini_segmenter",
                .models = {{"mini_segmenter", SegmenterConfig(),
                            whole_recipe(Framing::kStretch, 64, 256, 42), "segmentation"},
                           {"mini_slide", slide, recipe, "golden case slide"}}});
    add_family({.name = "mini_detector",
                .base = "mini_detector",
                .models = {{"mini_detector", MiniDetectorConfig(),
                            whole_recipe(Framing::kPad, 96, 160, 0), "detection"}}});
    return true;
  }();
  EXPECT_TRUE(added);
}

void write_dense_network(const std::string& model, const std::string& path,
                         const std::vector<std::string>& classes) {
  add_dense_networks();
  ModelRequest request;
  request.model = model;
  ModelSource source = find_source(request);
  source.classes = classes;
  save_model(source, path);
}

ModelSource dense_source(const std::string& path) {
  add_dense_networks();
  ModelRequest request;
  request.model = path;
  return find_source(request);
}

void write_slide_network(const std::string& path) {
  add_dense_networks();
  const SafeTensors values = SafeTensors::open(golden("dense/slide.safetensors"));
  ModelInfo info;
  info.arch = "mini_slide";
  info.recipe = find_model("mini_slide").recipe;
  const std::vector<NamedTensor> tensors = {{"conv.weight", values.find("weight")->view},
                                            {"conv.bias", values.find("bias")->view}};
  write_safetensors(path, tensors, encode_model_info(info));
}

}  // namespace vig::test
