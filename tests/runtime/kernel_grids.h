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

inline void set_grids(DeformableArgs& args, const std::vector<DeformableGrid>& levels,
                      const std::vector<DeformableGrid>& queries) {
  args.levels = levels.data();
  args.level_count = static_cast<int64_t>(levels.size());
  args.queries = queries.data();
  args.query_grids = static_cast<int64_t>(queries.size());
}

}  // namespace vig::test
