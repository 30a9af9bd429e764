// UperNet: Unified Perceptual Parsing for Scene Understanding, on any pyramid.
//
// Maps f1 to f4 of strides 4 to 32, C head channels. conv is a convolution without bias, a batch
// norm and a ReLU.
//   l4 = conv([f4 | pooled means of f4]);  lk = conv(fk) + resize(l(k+1))
//   logits = conv_seg(dropout(conv([conv(l1) | conv(l2) | conv(l3) | l4], at the size of f1)))
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vig/models/pyramid.h"

namespace vig {

struct UperHeadConfig {
  int head_channels = 512;
  int auxiliary_channels = 256;  // of the head that training adds
  float head_dropout = 0.1f;     // of whole channels before the classes
  std::vector<int> pool_scales = {1, 2, 3, 6};

  void visit(FieldVisitor& visitor);
};

// The output "logits", [height / 4, width / 4, classes].
void uper_head(Builder& b, const Pyramid& maps, const UperHeadConfig& config, int classes);

// What training adds: conv_seg(dropout(conv(f3))) as a graph of its own, so that inference does not
// compute it. Its input has the name of the map, backbone.f3, and its output is "auxiliary".
Graph auxiliary_head(const Grid& map, const UperHeadConfig& config, int classes, int level);

// The classes of a segmentation network's file.
std::map<std::string, std::string> segmentation_classes(const TensorShapes& shapes);

template <PyramidBackbone Backbone>
struct UperNetConfig : ConfigOf<UperNetConfig<Backbone>> {
  Backbone backbone;
  UperHeadConfig head;

  UperNetConfig() { this->classes = 150; }
  void visit_fields(FieldVisitor& visitor) override {
    this->visit_common(visitor);
    backbone.visit(visitor);
    head.visit(visitor);
  }
  int64_t blocks() const override { return backbone.all_blocks(); }
  ModelTask task() const override { return ModelTask::kSegment; }

  Graph build(int height, int width) const override {
    Builder b;
    const BackboneUse use{task(), this->image_size, this->drop_path};
    const Pyramid maps = backbone.maps(b, b.input("image", {height, width, 3}), use);
    b.set_level(head_level(backbone));
    uper_head(b, maps, head, this->classes);
    return std::move(b).finish();
  }
  std::vector<Graph> further_graphs() const override {
    // Its operations are the same on every grid; this one is of an image of 512 x 512.
    const Grid map{32, 32, backbone.third_width()};
    return {auxiliary_head(map, head, this->classes, head_level(backbone))};
  }
  std::map<std::string, std::string> fields_shown_by(const TensorShapes& shapes) const override {
    std::map<std::string, std::string> fields = segmentation_classes(shapes);
    fields.merge(backbone.shown_by(shapes));
    return fields;
  }
  bool leaves_out(std::string_view tensor) const override {
    if constexpr (requires { backbone.leaves_out(tensor); }) return backbone.leaves_out(tensor);
    return false;
  }
};

}  // namespace vig
