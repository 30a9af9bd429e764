// Golden cases of single operators: every size and option is the case's own.
#pragma once

#include <string>

#include "vig/base/json.h"
#include "vig/verify/comparison.h"

namespace vig {

// Whether the text describes one: its "op" is known.
bool is_operator_description(const Json& description);
// Whether that operator is one of training, which the engine does not have.
bool is_training_operator(const Json& description);
// Adds a check of each result. Throws where the case lacks a tensor or a number.
void verify_operator(Comparison& comparison);

// ---- by what they work on ----

void verify_anchors(Comparison& c);
void verify_box_coder(Comparison& c);
void verify_nms(Comparison& c);
void verify_final_boxes(Comparison& c);
void verify_proposals(Comparison& c);
void verify_roi_align(Comparison& c);
void verify_roi_levels(Comparison& c);
void verify_mask_paste(Comparison& c);
void verify_polygons(Comparison& c);

void verify_interpolation(Comparison& c);
void verify_slide(Comparison& c);
void verify_miou(Comparison& c);
void verify_average_precision(Comparison& c);

void verify_extractor(Comparison& c);
void verify_feature_pyramid(Comparison& c);
void verify_pyramid_pooling(Comparison& c);
void verify_uper_head(Comparison& c);
void verify_deformable_module(Comparison& c);
void verify_deformable_core(Comparison& c);
void verify_fresh_offsets(Comparison& c);

void verify_bi_wkv(Comparison& c);
void verify_selective_scan(Comparison& c);
void verify_s4nd(Comparison& c);

}  // namespace vig
