// Reference implementations of kernels/pool.h and kernels/backward/pool.h, in double.
#pragma once

#include "vig/kernels/backward/pool.h"
#include "vig/kernels/pool.h"

namespace vig::reference {

void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean);
void max_pool(const MaxPoolArgs& args);
void average_pool(const MaxPoolArgs& args);
void pool_cells(const CellPoolArgs& args);
void pool_cells_backward(const CellPoolBackwardArgs& args);

}  // namespace vig::reference
