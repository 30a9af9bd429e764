// Training images of detection: the image, its boxes and its masks change together.
#pragma once

#include "vig/data/objects.h"
#include "vig/data/view.h"

namespace vig {

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
