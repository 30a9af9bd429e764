// The gradient of pool.h's means of cells: every position gathers from the cells it lies in.
#pragma once

#include <cstdint>

#include "vig/kernels/pool.h"

namespace vig {

struct CellPoolBackwardArgs {
  const float* dy = nullptr;  // [batch, cells, cells, channels]
  int64_t batch = 0;
  ConvGrid grid;  // of the map
  int64_t cells = 1;
  float* dx = nullptr;  // [batch, height, width, channels], overwritten
};

void pool_cells_backward(const CellPoolBackwardArgs& args);

}  // namespace vig
