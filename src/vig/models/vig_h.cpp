// ViG-H: the hierarchical model of the ViG paper.
//
// Stages of c channels, m FFN hidden width; each stage but the last halves the grid.
// x += op(norm(x));  x += mlp(norm2(x));  head(mean(norm(x))).
// Parameter names and order of operations are those of the released checkpoints.
#include <fmt/format.h>

#include "vig/models/blocks.h"
#include "vig/models/family.h"
#include "vig/models/vig_h_blocks.h"

namespace vig {
namespace {

struct VigHConfig : ConfigOf<VigHConfig>, VigHBackboneConfig {
  void visit_fields(FieldVisitor& visitor) override {
    visit_common(visitor);
    VigHBackboneConfig::visit(visitor);
  }
  int64_t blocks() const override { return all_blocks(); }

  Graph build(int height, int width) const override {
    Builder b;
    const std::vector<Value> stages =
        vig_h_stages(b, b.input("image", {height, width, 3}), *this, drop_path);
    for (size_t s = 0; s < stages.size(); ++s) b.output(fmt::format("stage{}", s), stages[s]);
    b.next_level();
    const std::string norm = "classifier.norm";
    const Value x = b.named(b.layer_norm(stages.back(), norm, kVigHNormEps), norm);
    classifier_outputs(b, x, "classifier.head", classes, kVigHLinearInit);
    return std::move(b).finish();
  }

  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    return classes_shown_by(shapes, "classifier.head.weight");
  }
};

// ---- the models ---------------------------------------------------------------------------

VigHConfig hierarchical(int width, int third_depth, float drop_path) {
  VigHConfig config;
  static_cast<VigHBackboneConfig&>(config) = VigHBackboneConfig::of(width, third_depth);
  config.drop_path = drop_path;
  return config;
}

VigHConfig miniature() {
  VigHConfig config;
  static_cast<VigHBackboneConfig&>(config) = VigHBackboneConfig::miniature();
  config.classes = 10;
  config.image_size = 64;
  return config;
}

}  // namespace

Family vig_h_family() {
  const Recipe imagenet;
  return {
      .name = "vig_h",
      .base = "vig_h_t",
      .models = {
          {"vig_h_t", hierarchical(96, 5, 0.2f), imagenet, "hierarchical, tiny", "29M", "4.5G"},
          {"vig_h_s", hierarchical(96, 17, 0.3f), imagenet, "hierarchical, small", "50M", "8.8G"},
          {"vig_h_b", hierarchical(128, 17, 0.6f), imagenet, "hierarchical, base", "89M", "15.5G"},
          {"test_vig_h", miniature(), imagenet.with_size(64), "miniature for tests"},
      }};
}

}  // namespace vig
