// Training images of segmentation: the image and its label map change together.
#pragma once

#include "vig/data/view.h"

namespace vig {

// Resized at random, cut, mirrored and distorted in colour. Writes recipe.crop x recipe.crop x 3
// floats, and gives the labels of that square: zeros and kNoLabel where the image does not reach.
// A function of the arguments alone. Throws Error where the map is of another size than the
// image.
LabelMap augment_labels(const Image& image, const LabelMap& labels, const Recipe& recipe,
                        const ViewOptions& options, const RandomStream& stream, float* out);

}  // namespace vig
