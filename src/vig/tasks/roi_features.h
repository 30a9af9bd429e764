// What a detector's heads see of a box: features of the pyramid's level that fits its size.
#pragma once

#include <span>

#include "vig/image/box.h"
#include "vig/models/detector_config.h"

namespace vig {

// A map of the pyramid, [height, width, channels].
struct PyramidLevel {
  int height = 0, width = 0, channels = 0;
  const float* values = nullptr;
};

// floor(log2(sqrt(box.width * box.height) / config.finest_scale + 1e-6)), within the
// config.roi_levels levels.
int roi_level(const Box& box, const DetectorConfig& config);

// RoIAlign of the box from its level, to [side, side, channels]: aligned, as many samples as the
// size of a cell asks for, averaged. Boxes are positions in the network's input. `levels` has at
// least config.roi_levels maps, finest first, of config.strides.
void roi_features(std::span<const PyramidLevel> levels, const Box& box,
                  const DetectorConfig& config, int side, float* out);

}  // namespace vig
