// What the pipelines hand out for an image.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vig/data/sample_source.h"

namespace vig {

// Why a prediction may be worse than its scores say.
struct ImageWarning {
  std::string kind;     // one of those below
  std::string message;  // a sentence without the image's name
};
// The image is shrunk more than one and a half times as much as any image of training.
inline constexpr const char* kShrunkWarning = "shrunk";
// As many objects as the model gives at most.
inline constexpr const char* kMostObjectsWarning = "most_objects";

template <class Prediction>
struct ImageResult {
  std::string name;  // SampleSource::path
  Prediction prediction;
  std::string error;  // why there is no prediction; empty when there is one
  size_t index = 0;   // in the source
  // Of segmentation and detection, for drawing and measuring: the image and its target.
  Sample sample = {};
  std::vector<ImageWarning> warnings = {};
};

// The results of a batch, in the order of the images; false ends the work.
template <class Prediction>
using HandleResults = std::function<bool(std::span<const ImageResult<Prediction>> batch)>;

}  // namespace vig
