// ViG-H for segmentation and detection, under UperNet and Mask R-CNN: what the blocks of its four
// stages put out, each behind a LayerNorm of its own.
#include <fmt/ranges.h>

#include "vig/base/error.h"
#include "vig/models/dense_recipes.h"
#include "vig/models/family.h"
#include "vig/models/mask_rcnn.h"
#include "vig/models/upernet.h"
#include "vig/models/vig_h_blocks.h"

namespace vig {
namespace {

struct VigHPyramid : VigHBackboneConfig {
  void check_stages() const {
    if (dims.size() == 4) return;
    fail_usage("[vig_h] dims={} are {} stages, expected the 4 of a pyramid", fmt::join(dims, ","),
               dims.size());
  }
  int third_width() const {
    check_stages();
    return dims[2];
  }
  Pyramid maps(Builder& b, Value image, const BackboneUse& use) const {
    check_stages();
    const std::vector<Value> stages = vig_h_stages(b, image, *this, use.drop_path, "backbone.");
    b.next_level();
    Pyramid maps;
    for (size_t k = 0; k < maps.size(); ++k) {
      maps[k] = b.layer_norm(stages[k], fmt::format("backbone.outnorm{}", k), kVigHNormEps);
      b.named(maps[k], fmt::format("backbone.f{}", k + 1));
    }
    return maps;
  }
  std::map<std::string, std::string> shown_by(const TensorShapes&) const { return {}; }
};

using Segmenter = UperNetConfig<VigHPyramid>;
using Detector = MaskRcnnConfig<VigHPyramid>;

template <class Config>
Config variant(int width, int third_depth, float drop_path) {
  Config config;
  static_cast<VigHBackboneConfig&>(config.backbone) = VigHBackboneConfig::of(width, third_depth);
  config.drop_path = drop_path;
  return config;
}

template <class Config>
Config miniature() {
  Config config;
  static_cast<VigHBackboneConfig&>(config.backbone) = VigHBackboneConfig::miniature();
  config.image_size = 64;
  return config;
}

Segmenter small_segmenter() {
  auto config = miniature<Segmenter>();
  config.classes = 5;
  config.head.head_channels = 12;
  config.head.auxiliary_channels = 8;
  return config;
}

Detector small_detector() {
  auto config = miniature<Detector>();
  config.classes = 3;
  config.head.fpn_channels = 16;
  config.head.fc_channels = 24;
  config.head.mask_channels = 16;
  return config;
}

}  // namespace

Family vig_h_upernet_family() {
  const Recipe recipe = segmentation_recipe(512, 0);
  return {
      .name = "vig_h_upernet",
      .base = "vig_h_t_upernet",
      .models =
          {
              {"vig_h_t_upernet", variant<Segmenter>(96, 5, 0.2f), recipe, "segmentation, tiny"},
              {"vig_h_s_upernet", variant<Segmenter>(96, 17, 0.3f), recipe, "segmentation, small"},
              {"vig_h_b_upernet", variant<Segmenter>(128, 17, 0.6f), recipe, "segmentation, base"},
              {"test_vig_h_upernet", small_segmenter(), segmentation_recipe(64, 0),
               "miniature for tests"},
          },
      .buffers = {".num_batches_tracked"}};
}

Family vig_h_maskrcnn_family() {
  const Recipe recipe = detection_recipe();
  return {.name = "vig_h_maskrcnn",
          .base = "vig_h_t_maskrcnn",
          .models =
              {
                  {"vig_h_t_maskrcnn", variant<Detector>(96, 5, 0.2f), recipe, "detection, tiny"},
                  {"vig_h_s_maskrcnn", variant<Detector>(96, 17, 0.3f), recipe, "detection, small"},
                  {"vig_h_b_maskrcnn", variant<Detector>(128, 17, 0.6f), recipe, "detection, base"},
                  {"test_vig_h_maskrcnn", small_detector(), detection_recipe(64, 96),
                   "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"}};
}

}  // namespace vig
