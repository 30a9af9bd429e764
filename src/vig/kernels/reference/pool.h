// Reference implementation of kernels/pool.h, in double.
#pragma once

#include "vig/kernels/pool.h"

namespace vig::reference {

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean);

}  // namespace vig::reference
