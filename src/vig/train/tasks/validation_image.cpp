#include "vig/train/tasks/validation_image.h"

namespace vig::train {

void frame_validation(const Image& image, const Recipe& recipe, Target& target) {
  auto seen = std::make_shared<ValidationImage>();
  const Placement placement = place(recipe, image.width, image.height);
  seen->input = at::empty({1, placement.input_height, placement.input_width, 3}, at::kFloat);
  seen->placement = preprocess(image, recipe, seen->input.data_ptr<float>());
  seen->truth = std::move(target);
  target = std::shared_ptr<const ValidationImage>(std::move(seen));
}

const ValidationImage& validation_image(const Target& target) {
  return *std::any_cast<const std::shared_ptr<const ValidationImage>&>(target);
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
