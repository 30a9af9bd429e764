// The boxes that a detector's proposals are described against.
#pragma once

#include <vector>

#include "vig/base/detector_numbers.h"
#include "vig/image/box.h"

namespace vig {

// Of the cell at the origin, one for each ratio: side s = anchor_scale * stride, width
// s / sqrt(ratio), height s * sqrt(ratio). Not rounded.
std::vector<Box> cell_anchors(const DetectorNumbers& numbers, int stride);

// Of a level of height x width cells, in the order row, column, ratio. The centre of cell (row j,
// column i) is (i * stride, j * stride), without half a stride.
std::vector<Box> level_anchors(const DetectorNumbers& numbers, int stride, int height, int width);

}  // namespace vig
