// What a data set says of an image: the target of its sample.
#pragma once

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "vig/data/image_files.h"
#include "vig/data/objects.h"
#include "vig/image/image.h"
#include "vig/image/preprocess.h"

namespace vig {

// An image as the recipe of a dense network frames it, with what is to be found in it: its input
// has a size of its own.
struct FramedSample {
  Placement placement;
  std::vector<float> input;  // [placement.input_height, placement.input_width, 3]
  std::variant<LabelMap, Objects> truth;
};

// A class, a class for every pixel, or objects; then what augmentation or framing make of them.
struct Target : std::variant<int, LabelMap, Objects, PlacedObjects, FramedSample> {
  using variant::variant;
  using variant::operator=;
};

template <class T>
std::shared_ptr<Target> make_target(T value) {
  return std::make_shared<Target>(std::move(value));
}

// Throws std::bad_variant_access where the target is of another kind.
template <class T>
const T& target_of(const Sample& sample) {
  return std::get<T>(*sample.target);
}

}  // namespace vig
