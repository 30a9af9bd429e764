#include "vig/tasks/suppress.h"

#include <algorithm>
#include <numeric>

namespace vig {

std::vector<size_t> suppress_boxes(std::span<const Box> boxes, std::span<const float> scores,
                                   float overlap) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<size_t> kept;
  for (const size_t candidate : order) {
    const bool covered = std::ranges::any_of(
        kept, [&](size_t other) { return box_iou(boxes[candidate], boxes[other]) > overlap; });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace vig
