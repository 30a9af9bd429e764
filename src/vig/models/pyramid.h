// A backbone of dense prediction: four maps of an image, and what a head must know of them.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "vig/graph/builder.h"
#include "vig/models/config.h"

namespace vig {

// Maps of strides 4, 8, 16 and 32.
using Pyramid = std::array<Value, 4>;

// What a backbone is built for.
struct BackboneUse {
  ModelTask task = ModelTask::kSegment;
  int image_size = 224;  // that position tables belong to
  float drop_path = 0;
};

// The config of a backbone. Its blocks begin levels 1, 2 and so on. All its names begin with
// "backbone."; the maps are named backbone.f1 to backbone.f4.
template <class T>
concept PyramidBackbone = requires(const T& backbone, T& changed, FieldVisitor& visitor, Builder& b,
                                   const TensorShapes& shapes) {
  changed.visit(visitor);
  { backbone.all_blocks() } -> std::same_as<int64_t>;
  // The channels of the third map.
  { backbone.third_width() } -> std::same_as<int>;
  { backbone.maps(b, Value{}, BackboneUse{}) } -> std::same_as<Pyramid>;
  // Fields that a checkpoint shows, see ModelConfig.
  { backbone.shown_by(shapes) } -> std::same_as<std::map<std::string, std::string>>;
};

// What stands above the blocks learns at their rate and more: the level of heads, necks and of all
// that a backbone adds to a pretrained network.
template <PyramidBackbone Backbone>
int head_level(const Backbone& backbone) {
  return static_cast<int>(backbone.all_blocks()) + 1;
}

}  // namespace vig
