#include "vig/models/dense_variants.h"

namespace vig {

std::map<std::string, std::string> adapter_arguments(std::map<std::string, std::string> more) {
  std::map<std::string, std::string> fields = {{"deform_num_heads", "deform_heads"},
                                               {"n_points", "deform_points"},
                                               {"interaction_indexes", "interactions"},
                                               {"drop_path_rate", "drop_path"}};
  fields.merge(more);
  return fields;
}

std::map<std::string, std::string> segmenter_arguments(std::map<std::string, std::string> more) {
  more.insert({{"channels", "head_channels"}, {"aux_channels", "auxiliary_channels"}});
  return adapter_arguments(std::move(more));
}

std::map<std::string, std::string> detector_arguments(std::map<std::string, std::string> more) {
  more.insert({{"rpn_nms_pre", "proposals_per_level"},
               {"rpn_max", "proposals"},
               {"rpn_iou", "proposal_overlap"},
               {"score_thr", "min_score"},
               {"iou", "box_overlap"},
               {"max_per_img", "detections"}});
  return adapter_arguments(std::move(more));
}

}  // namespace vig
