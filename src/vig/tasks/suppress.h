// Of boxes that overlap much, only the best.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "vig/image/box.h"

namespace vig {

// Goes through the boxes by descending score, of equal scores in their order, and drops those whose
// overlap over union with one already kept is above `overlap`. Two empty boxes do not overlap.
// Gives the indices of those kept, best first.
std::vector<size_t> suppress_boxes(std::span<const Box> boxes, std::span<const float> scores,
                                   float overlap);

}  // namespace vig
