#include "vig/kernels/reference/nms.h"

#include "vig/kernels/nms_order.h"

namespace vig::reference {

std::vector<int> nms(const float* boxes, const float* scores, int64_t count, float threshold) {
  std::vector<int> kept;
  for (const int i : by_descending_score(scores, count)) {
    bool suppressed = false;
    for (const int other : kept) {
      suppressed |= can_overlap(boxes + 4 * i) && can_overlap(boxes + 4 * other) &&
                    overlap_above(boxes + 4 * i, boxes + 4 * other, threshold);
    }
    if (!suppressed) kept.push_back(i);
  }
  return kept;
}

}  // namespace vig::reference
