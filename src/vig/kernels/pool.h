// Mean over rows.
#pragma once

#include <cstdint>

namespace vig {

// mean[c] = sum of rows[r * stride + c] / count, summed in blocks so that long sequences stay
// exact.
void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean);

}  // namespace vig
