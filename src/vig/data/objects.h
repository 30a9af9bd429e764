// The objects of an image, as the target of a detector.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/image/box.h"
#include "vig/image/mask.h"

namespace vig {

struct Object {
  Box box;
  int label = 0;
  bool crowd = false;  // a region of many: neither to be found nor wrong to be found
  double area = 0;     // as annotated
  Mask mask;           // of the whole image; empty where there is none
};

struct Objects {
  int64_t image = 0;  // its number in the annotations
  std::vector<Object> objects;
};

}  // namespace vig
