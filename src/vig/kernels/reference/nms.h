// Reference implementation of kernels/nms.h: every box is compared with all that are kept.
#pragma once

#include "vig/kernels/nms.h"

namespace vig::reference {

std::vector<int> nms(const float* boxes, const float* scores, int64_t count, float threshold);

}  // namespace vig::reference
