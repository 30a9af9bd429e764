#include "vig/verify/operators.h"

#include <array>

#include "vig/base/error.h"

namespace vig {
namespace {

struct Operator {
  std::string_view begin;       // of the text "op"
  void (*verify)(Comparison&);  // null: of training
};

constexpr Operator kOperators[] = {
    {"RPN anchors", verify_anchors},
    {"max-IoU assignment", nullptr},
    {"box delta coding", verify_box_coder},
    {"COCO average precision", verify_average_precision},
    {"polygon to mask", verify_polygons},
    {"extractor block", verify_extractor},
    {"feature pyramid", verify_feature_pyramid},
    {"image interpolation", verify_interpolation},
    {"paste a ", verify_mask_paste},
    {"mask training target", nullptr},
    {"mean intersection over union", verify_miou},
    {"multi-scale deformable attention, core", verify_deformable_core},
    {"deformable attention module", verify_deformable_module},
    {"initial sampling_offsets.bias", verify_fresh_offsets},
    {"final detection filter", verify_final_boxes},
    {"greedy NMS", verify_nms},
    {"pyramid pooling module", verify_pyramid_pooling},
    {"RoIAlign", verify_roi_align},
    {"RoI to pyramid level", verify_roi_levels},
    {"proposal selection", verify_proposals},
    {"learning rate", nullptr},
    {"sliding-window segmentation", verify_slide},
    {"UPerNet head", verify_uper_head},
    {"bi-WKV", verify_bi_wkv},
    {"selective scan", verify_selective_scan},
    {"S4ND layer", verify_s4nd},
};

const Operator* find_operator(const Json& description) {
  if (!description.is_object() || !description.contains("op")) return nullptr;
  const Json& op = description["op"];
  if (!op.is_string()) return nullptr;
  const auto text = op.get<std::string>();
  for (const Operator& one : kOperators) {
    if (text.starts_with(one.begin)) return &one;
  }
  return nullptr;
}

}  // namespace

bool is_operator_description(const Json& description) {
  return find_operator(description) != nullptr;
}

bool is_training_operator(const Json& description) {
  const Operator* found = find_operator(description);
  return found != nullptr && found->verify == nullptr;
}

void verify_operator(Comparison& comparison) {
  const Operator* found = find_operator(comparison.golden().description);
  if (found == nullptr || found->verify == nullptr) {
    fail("{}: an operator that the engine does not have", comparison.golden().file);
  }
  found->verify(comparison);
}

}  // namespace vig
