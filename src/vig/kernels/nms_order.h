// What the fast and the plain form of suppression share: the order of the boxes and the measure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace vig {

// By descending score, equal ones as they come, those that are not a number last.
inline std::vector<int> by_descending_score(const float* scores, int64_t count) {
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return scores[a] > scores[b] || (std::isnan(scores[b]) && !std::isnan(scores[a]));
  });
  return order;
}

// Whether a box can suppress or be suppressed: finite and not empty.
inline bool can_overlap(const float* box) {
  const bool finite = std::isfinite(box[0]) && std::isfinite(box[1]) && std::isfinite(box[2]) &&
                      std::isfinite(box[3]);
  return finite && box[2] > box[0] && box[3] > box[1];
}

inline bool overlap_above(const float* a, const float* b, float threshold) {
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const float overlap = std::max(width, 0.0f) * std::max(height, 0.0f);
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]), area_b = (b[2] - b[0]) * (b[3] - b[1]);
  return overlap / (area_a + area_b - overlap) > threshold;
}

}  // namespace vig
