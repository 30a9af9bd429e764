#include "vig/tasks/roi_features.h"

#include <vector>

#include "vig/kernels/roi_align.h"

namespace vig {

int roi_level(const Box& box, const DetectorConfig& config) {
  return roi_level(&box.x1, config.finest_scale, config.roi_levels);
}

void roi_features(std::span<const PyramidLevel> levels, const Box& box,
                  const DetectorConfig& config, int side, float* out) {
  const PyramidLevel& level = levels[static_cast<size_t>(roi_level(box, config))];
  const auto stride = config.strides[static_cast<size_t>(&level - levels.data())];
  RoiAlignArgs args;
  args.map = {level.values, level.channels, level.height, level.width,
              1.0f / static_cast<float>(stride)};
  args.channels = level.channels;
  args.box = &box.x1;
  args.side = side;
  args.out = out;
  args.out_stride = level.channels;
  roi_align(args);
}

}  // namespace vig
