// The objects of an image, as the target of a detector.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/image/box.h"
#include "vig/image/mask.h"
#include "vig/image/resize_part.h"

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

// The mask of an object inside of a rectangle of the input, [height, width] of zeros and ones;
// outside of it there are zeros.
struct PlacedMask {
  Part part;
  std::vector<uint8_t> pixels;  // empty: the object has no mask

  bool at(int x, int y) const {
    x -= part.x;
    y -= part.y;
    return x >= 0 && y >= 0 && x < part.width && y < part.height &&
           pixels[static_cast<size_t>(y) * static_cast<size_t>(part.width) +
                  static_cast<size_t>(x)] != 0;
  }
};

struct PlacedObject {
  Box box;
  int label = 0;
  PlacedMask mask;
};

// What there is to find in an input. Crowds are left out.
struct PlacedObjects {
  int width = 0, height = 0;  // of the image; the rest of the input is padding
  std::vector<PlacedObject> objects;
};

}  // namespace vig
