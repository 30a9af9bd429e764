// Which boxes stand for which objects while a detector learns, and which of them are learnt from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vig/base/random.h"
#include "vig/image/box.h"

namespace vig::train {

// IoU with the objects decides, the union counting as at least 1e-6.
struct AssignRule {
  float positive = 0.7f;        // at least: stands for that object, the first one on ties
  float negative = 0.3f;        // below, with every object: background
  float least_positive = 0.3f;  // an object's best boxes stand for it from here on, too
};
inline constexpr AssignRule kProposalRule = {0.7f, 0.3f, 0.3f};
inline constexpr AssignRule kBoxRule = {0.5f, 0.5f, 0.5f};

inline constexpr int kIgnored = -1, kBackground = 0;

// For each box kIgnored, kBackground, or k + 1 for object k. After the thresholds every object, in
// order, takes all boxes that have exactly its best IoU, also from objects before it, if that IoU
// is at least rule.least_positive.
std::vector<int> assign_boxes(std::span<const Box> boxes, std::span<const Box> objects,
                              const AssignRule& rule);

// Boxes to learn from, by their positions in the list, ascending.
struct Samples {
  std::vector<int64_t> positive, negative;
  std::vector<int> matched;  // the object of each positive
};

// At most `count`, of which at most `most_positive` stand for an object; positions that these leave
// go to background. Drawn without replacement.
Samples draw_samples(std::span<const int> assigned, size_t count, size_t most_positive,
                     const RandomStream& stream);

}  // namespace vig::train
