// Mask R-CNN on a feature pyramid, on any backbone: the networks. What happens between them
// (anchors, proposals, RoIAlign, suppression) is plain code, see models/detector_config.h.
//
// Three graphs, C pyramid channels, A anchors per cell, K classes, s sides:
//
//   input                  outputs
//   image                p2 .. p5 [.., C]; rpn_cls0 .. 4 [.., A]; rpn_reg0 .. 4 [.., 4 A]
//   box_features  [s,s,C]  box_cls [K + 1], the background last; box_reg [4 K]
//   mask_features [s,s,C]  mask_logits [2 s, 2 s, K]
//
// The five levels of the proposals are p2 to p5 and every second row and column of p5.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vig/models/pyramid.h"

namespace vig {

struct MaskRcnnHeadConfig {
  int fpn_channels = 256;
  int fc_channels = 1024;   // of the box head
  int mask_channels = 256;  // of the mask head
  int mask_convs = 4;
  DetectorConfig detector;

  void visit(FieldVisitor& visitor);
  // Throws a usage error for values out of range.
  void check() const;
};

// The levels of the pyramid: top-down sums, each behind a convolution, and a fifth one.
std::vector<Value> feature_pyramid(Builder& b, const Pyramid& maps, int channels);
void proposal_head(Builder& b, const std::vector<Value>& levels, const MaskRcnnHeadConfig& config);
Graph box_head(const MaskRcnnHeadConfig& config, int classes, int level);
Graph mask_head(const MaskRcnnHeadConfig& config, int classes, int level);

// The classes of a detector's file.
std::map<std::string, std::string> detection_classes(const TensorShapes& shapes);

template <PyramidBackbone Backbone>
struct MaskRcnnConfig : ConfigOf<MaskRcnnConfig<Backbone>> {
  Backbone backbone;
  MaskRcnnHeadConfig head;

  MaskRcnnConfig() { this->classes = 80; }
  void visit_fields(FieldVisitor& visitor) override {
    this->visit_common(visitor);
    backbone.visit(visitor);
    head.visit(visitor);
  }
  int64_t blocks() const override { return backbone.all_blocks(); }
  ModelTask task() const override { return ModelTask::kDetect; }
  const DetectorConfig* detector() const override { return &head.detector; }

  Graph build(int height, int width) const override {
    Builder b;
    const BackboneUse use{task(), this->image_size, this->drop_path};
    const Pyramid maps = backbone.maps(b, b.input("image", {height, width, 3}), use);
    b.set_level(head_level(backbone));
    proposal_head(b, feature_pyramid(b, maps, head.fpn_channels), head);
    return std::move(b).finish();
  }
  std::vector<Graph> further_graphs() const override {
    head.check();
    const int level = head_level(backbone);
    return {box_head(head, this->classes, level), mask_head(head, this->classes, level)};
  }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = detection_classes(shapes);
    fields.merge(backbone.shown_by(shapes));
    return fields;
  }
  bool leaves_out(std::string_view tensor) const override {
    if constexpr (requires { backbone.leaves_out(tensor); }) return backbone.leaves_out(tensor);
    return false;
  }
};

}  // namespace vig
