// Orders in which the positions of a grid become a sequence.
#pragma once

#include <cstdint>
#include <vector>

namespace vig {

enum class ScanOrder {
  kRows,          // row by row
  kColumns,       // column by column
  kSnakeRows,     // row by row, every second one from its end
  kSnakeColumns,  // the same by columns
  kWindows,       // windows of `part` x `part` positions row by row, inside them row by row
  kSubgrid,       // one of four: every second row and column, see scan_rows
};

struct ScanPath {
  ScanOrder order = ScanOrder::kRows;
  bool backward = false;
  int part = 0;  // of windows: their side; of subgrids: which
  // A class token: row `token` of the sequence, which is at index `token` of every path. The other
  // rows are a grid of `columns` columns. -1: all rows are the grid.
  int token = -1;
  int columns = 0;
  bool operator==(const ScanPath&) const = default;
};

// The position of the grid, counted row by row, at each index of the path; -1 for padding, which
// fills the last windows and subgrids. Subgrid p begins in row p % 2 and column p / 2; 0 and 2 go
// row by row, 1 and 3 column by column.
std::vector<int32_t> scan_rows(const ScanPath& path, int height, int width);

}  // namespace vig
