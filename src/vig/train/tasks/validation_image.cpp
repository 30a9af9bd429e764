#include "vig/train/tasks/validation_image.h"

namespace vig::train {

void frame_validation(const Image& image, const Recipe& recipe, Target& target) {
  FramedSample framed;
  const Placement placement = place(recipe, image.width, image.height);
  framed.input.resize(static_cast<size_t>(placement.input_height) *
                      static_cast<size_t>(placement.input_width) * 3);
  framed.placement = preprocess(image, recipe, framed.input.data());
  if (auto* labels = std::get_if<LabelMap>(&target)) {
    framed.truth = std::move(*labels);
  } else {
    framed.truth = std::get<Objects>(std::move(target));
  }
  target = std::move(framed);
}

ValidationImage validation_image(const Sample& sample) {
  const auto& framed = target_of<FramedSample>(sample);
  const Placement& placement = framed.placement;
  // LibTorch knows no memory that is only read.
  return {placement, at::from_blob(const_cast<float*>(framed.input.data()),
                                   {1, placement.input_height, placement.input_width, 3})};
}

std::shared_ptr<const Graph> SizedGraphs::at(int64_t height, int64_t width) {
  const std::scoped_lock lock(mutex_);
  if (graphs_.size() > kMostKept) graphs_.clear();
  std::shared_ptr<const Graph>& graph = graphs_[{height, width}];
  if (graph == nullptr) {
    graph = std::make_shared<const Graph>(
        build_graph(spec_, static_cast<int>(height), static_cast<int>(width)));
  }
  return graph;
}

}  // namespace vig::train
