// The result of a segmentation network for an image.
#pragma once

#include <vector>

#include "vig/image/label_map.h"

namespace vig {

struct Segmentation {
  LabelMap labels;  // of the image as it is stored, kNoLabel nowhere
  // Where asked for: the softmax of the classes, [height, width, classes].
  std::vector<float> probabilities;
};

}  // namespace vig
