// Non-maximum suppression: of boxes that overlap, the one with the highest score.
//
// Boxes [count, (x1, y1, x2, y2)]. In the order of descending scores, equal ones as they come, a
// box is kept unless its overlap over union with a kept box is above the threshold:
//   overlap / (area_a + area_b - overlap) > threshold,  in float32.
// Empty boxes and those that are not finite are kept and suppress nothing. A score that is not a
// number counts as the lowest.
#pragma once

#include <cstdint>
#include <vector>

namespace vig {

// The kept boxes by descending score. Requires threshold >= 0. The time is about count log(count)
// unless most boxes are kept and overlap: only boxes of similar size and position are compared. The
// result is that of comparing all.
std::vector<int> nms(const float* boxes, const float* scores, int64_t count, float threshold);

// Boxes of different classes never suppress each other: each is moved by label * (largest
// coordinate + 1) in float32. Coordinates must not be negative.
std::vector<int> nms_by_class(const float* boxes, const float* scores, const int* labels,
                              int64_t count, float threshold);

}  // namespace vig
