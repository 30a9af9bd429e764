// The plain ViG for segmentation and detection: ViT-Adapter (models/adapter.h) under UperNet and
// Mask R-CNN, as the ViG paper has it.
#include "vig/models/adapter.h"
#include "vig/models/dense_recipes.h"
#include "vig/models/family.h"
#include "vig/models/mask_rcnn.h"
#include "vig/models/upernet.h"

namespace vig {
namespace {

using Segmenter = UperNetConfig<VigAdapter>;
using Detector = MaskRcnnConfig<VigAdapter>;

struct Variant {
  VigBackboneConfig backbone;
  int deform_heads = 6;
  float deform_ratio = 1.0f;
  float drop_path = 0.0f;

  template <class Config>
  Config of() const {
    Config config;
    static_cast<VigBackboneConfig&>(config.backbone) = backbone;
    config.backbone.deform_heads = deform_heads;
    config.backbone.deform_ratio = deform_ratio;
    config.drop_path = drop_path;
    return config;
  }
};
Variant tiny() { return {VigBackboneConfig::tiny(), 6, 1.0f, 0.1f}; }
Variant small() { return {VigBackboneConfig::small(), 6, 1.0f, 0.2f}; }
Variant base() { return {VigBackboneConfig::base(), 12, 0.5f, 0.3f}; }

template <class Config>
Config miniature() {
  Config config;
  config.image_size = 64;
  config.backbone.embed_dim = 32;
  config.backbone.depth = 4;
  config.backbone.heads = 2;
  config.backbone.conv_inplane = 8;
  config.backbone.deform_heads = 4;
  return config;
}

Segmenter small_segmenter() {
  auto config = miniature<Segmenter>();
  config.classes = 5;
  config.backbone.silu_after_dwconv = true;
  config.backbone.silu_before_o_proj = true;
  config.backbone.deform_ratio = 0.5f;
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

// Arguments of the public code, in golden cases.
std::map<std::string, std::string> arguments(std::map<std::string, std::string> of_the_head) {
  std::map<std::string, std::string> fields = {{"deform_num_heads", "deform_heads"},
                                               {"n_points", "deform_points"},
                                               {"drop_path_rate", "drop_path"}};
  fields.merge(of_the_head);
  return fields;
}

}  // namespace

Family vig_upernet_family() {
  const Recipe recipe = segmentation_recipe(512, 341);
  return {.name = "vig_upernet",
          .base = "vig_s_upernet",
          .models =
              {
                  {"vig_t_upernet", tiny().of<Segmenter>(), recipe, "segmentation, tiny"},
                  {"vig_s_upernet", small().of<Segmenter>(), recipe, "segmentation, small"},
                  {"vig_b_upernet", base().of<Segmenter>(), recipe, "segmentation, base"},
                  {"test_vig_upernet", small_segmenter(), segmentation_recipe(64, 42),
                   "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields =
              arguments({{"channels", "head_channels"}, {"aux_channels", "auxiliary_channels"}})};
}

Family vig_maskrcnn_family() {
  const Recipe recipe = detection_recipe();
  return {.name = "vig_maskrcnn",
          .base = "vig_s_maskrcnn",
          .models =
              {
                  {"vig_t_maskrcnn", tiny().of<Detector>(), recipe, "detection, tiny"},
                  {"vig_s_maskrcnn", small().of<Detector>(), recipe, "detection, small"},
                  {"vig_b_maskrcnn", base().of<Detector>(), recipe, "detection, base"},
                  {"test_vig_maskrcnn", small_detector(), detection_recipe(64, 96),
                   "miniature for tests"},
              },
          .buffers = {".num_batches_tracked"},
          .argument_fields = arguments({{"rpn_nms_pre", "proposals_per_level"},
                                        {"rpn_max", "proposals"},
                                        {"rpn_iou", "proposal_overlap"},
                                        {"score_thr", "min_score"},
                                        {"iou", "box_overlap"},
                                        {"max_per_img", "detections"}}),
          .fixed_arguments = {{"mask_thr", "0.5"}}};
}

}  // namespace vig
