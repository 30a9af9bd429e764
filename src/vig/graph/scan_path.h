// Orders in which the positions of a grid become a sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "vig/graph/ops.h"

namespace vig {

// The position of the grid, counted row by row, at each index of the path; -1 for padding, which
// fills the last windows and subgrids. Subgrid p begins in row p % 2 and column p / 2; 0 and 2 go
// row by row, 1 and 3 column by column.
std::vector<int32_t> scan_rows(const ScanPath& path, int height, int width);

// The rows of u, or of the other operands, along the path; -1 for none.
std::vector<int32_t> scan_sources(const SelectiveScanOp& op, const ScanPath& path, int height,
                                  int width, bool of_u);
// The rows of the results along the path.
std::vector<int32_t> scan_targets(const SelectiveScanOp& op, const ScanPath& path, int height,
                                  int width);
// The rows of the parameter of moves along the path.
std::vector<int32_t> scan_moves(const ScanPath& path, int height, int width);
// The summed lengths of all directions.
int64_t scan_length(const SelectiveScanOp& op, int height, int width);
// Whether direction d adds to what those before it have stored.
bool scan_adds(const SelectiveScanOp& op, size_t d);

}  // namespace vig
