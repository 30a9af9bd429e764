#include "vig/train/tasks/assignment.h"

#include <algorithm>
#include <utility>

namespace vig::train {
namespace {

constexpr float kLeastUnion = 1e-6f;

// `count` of `positions` by chance, in ascending order.
std::vector<int64_t> draw(std::vector<int64_t> positions, size_t count, RandomStream stream) {
  if (positions.size() <= count) return positions;
  for (size_t i = 0; i < count; ++i) {
    std::swap(positions[i], positions[i + stream.below(positions.size() - i)]);
  }
  positions.resize(count);
  std::ranges::sort(positions);
  return positions;
}

}  // namespace

std::vector<int> assign_boxes(std::span<const Box> boxes, std::span<const Box> objects,
                              const AssignRule& rule) {
  std::vector<int> assigned(boxes.size(), kBackground);
  if (objects.empty()) return assigned;
  std::vector<float> best(objects.size(), 0.0f);  // of each object
  for (size_t i = 0; i < boxes.size(); ++i) {
    float most = -1.0f;
    size_t which = 0;
    for (size_t k = 0; k < objects.size(); ++k) {
      const float iou = box_iou(boxes[i], objects[k], kLeastUnion);
      best[k] = std::max(best[k], iou);
      if (iou > most) {
        most = iou;
        which = k;
      }
    }
    assigned[i] = most >= rule.positive  ? static_cast<int>(which) + 1
                  : most < rule.negative ? kBackground
                                         : kIgnored;
  }
  for (size_t k = 0; k < objects.size(); ++k) {
    if (best[k] < rule.least_positive) continue;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (box_iou(boxes[i], objects[k], kLeastUnion) == best[k]) {
        assigned[i] = static_cast<int>(k) + 1;
      }
    }
  }
  return assigned;
}

Samples draw_samples(std::span<const int> assigned, size_t count, size_t most_positive,
                     const RandomStream& stream) {
  std::vector<int64_t> positive, negative;
  for (size_t i = 0; i < assigned.size(); ++i) {
    if (assigned[i] > kBackground) positive.push_back(static_cast<int64_t>(i));
    if (assigned[i] == kBackground) negative.push_back(static_cast<int64_t>(i));
  }
  Samples samples;
  samples.positive =
      draw(std::move(positive), std::min(count, most_positive), stream.fork("positive"));
  samples.negative =
      draw(std::move(negative), count - samples.positive.size(), stream.fork("negative"));
  for (const int64_t position : samples.positive) {
    samples.matched.push_back(assigned[static_cast<size_t>(position)] - 1);
  }
  return samples;
}

}  // namespace vig::train
