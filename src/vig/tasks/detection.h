// The result of a detector for an image.
#pragma once

#include <vector>

#include "vig/image/box.h"
#include "vig/image/mask.h"

namespace vig {

struct Detection {
  Box box;  // in the image as it is stored
  int label = 0;
  float score = 0;
  Mask mask;  // of the whole image
};

// Of one image, the best first.
using Detections = std::vector<Detection>;

}  // namespace vig
