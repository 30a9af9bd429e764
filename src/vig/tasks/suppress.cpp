#include "vig/tasks/suppress.h"

#include "vig/kernels/nms.h"

namespace vig {

std::vector<size_t> suppress_boxes(std::span<const Box> boxes, std::span<const float> scores,
                                   float overlap) {
  static_assert(sizeof(Box) == 4 * sizeof(float));  // x1, y1, x2, y2, as the kernel takes them
  const std::vector<int> kept = nms(reinterpret_cast<const float*>(boxes.data()), scores.data(),
                                    static_cast<int64_t>(boxes.size()), overlap);
  return {kept.begin(), kept.end()};
}

}  // namespace vig
