// Training images of detection: the image, its boxes and its masks change together.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/data/objects.h"
#include "vig/data/view.h"

namespace vig {

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

// The objects as a view shows them. Those of which less than a pixel remains in width or height,
// or nothing of the mask, are left out.
PlacedObjects place_objects(const Objects& objects, const View& view);

// Writes canvas.height x canvas.width x 3 floats: the image resized, cut where it is larger than
// the canvas, mirrored, transposed and distorted in colour as the options say. A function of the
// arguments alone.
PlacedObjects augment_objects(const Image& image, const Objects& objects, const Recipe& recipe,
                              const ViewOptions& options, Sides canvas, const RandomStream& stream,
                              float* out);

}  // namespace vig
