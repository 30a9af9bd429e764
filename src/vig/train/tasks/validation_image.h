// Images that a dense network is validated on: each has an input of a size of its own, as the
// recipe frames it, and so travels with its target instead of in the batch.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "vig/data/target.h"
#include "vig/image/preprocess.h"
#include "vig/models/family.h"

namespace vig::train {

struct ValidationImage {
  Placement placement;
  at::Tensor input;  // [1, height, width, 3]
};

// Replaces a target of labels or objects by a FramedSample that has it.
void frame_validation(const Image& image, const Recipe& recipe, Target& target);
// The tensor lies in the sample's memory.
ValidationImage validation_image(const Sample& sample);

template <class Truth>
const Truth& truth_of(const Sample& sample) {
  return std::get<Truth>(target_of<FramedSample>(sample).truth);
}

// The network of the image at the sizes that are asked for; for any number of threads.
class SizedGraphs {
 public:
  explicit SizedGraphs(const ModelSpec& spec) : spec_(spec) {}
  std::shared_ptr<const Graph> at(int64_t height, int64_t width);

 private:
  static constexpr size_t kMostKept = 64;

  const ModelSpec& spec_;
  std::mutex mutex_;
  std::map<std::pair<int64_t, int64_t>, std::shared_ptr<const Graph>> graphs_;
};

}  // namespace vig::train
