// Grids of an operation as its kernel takes them.
#pragma once

#include <vector>

#include "vig/graph/ops.h"
#include "vig/kernels/deformable.h"

namespace vig::test {

inline std::vector<DeformableGrid> kernel_grids(const std::vector<GridSize>& sizes) {
  std::vector<DeformableGrid> list;
  for (const GridSize& size : sizes) list.push_back({size.height, size.width});
  return list;
}

}  // namespace vig::test
