// The boxes that a detector's proposals are described against.
#pragma once

#include <vector>

#include "vig/image/box.h"
#include "vig/models/detector_config.h"

namespace vig {

// Of the cell at the origin, one for each ratio: side s = anchor_scale * stride, width
// s / sqrt(ratio), height s * sqrt(ratio). Not rounded.
std::vector<Box> cell_anchors(const DetectorConfig& config, int stride);

// Of a level of height x width cells, in the order row, column, ratio. The centre of cell (row j,
// column i) is (i * stride, j * stride), without half a stride.
std::vector<Box> level_anchors(const DetectorConfig& config, int stride, int height, int width);

}  // namespace vig
