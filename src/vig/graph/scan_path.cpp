#include "vig/graph/scan_path.h"

#include <algorithm>
#include <numeric>

#include "vig/graph/ops.h"

namespace vig {
namespace {

class Path {
 public:
  Path(int height, int width) : height_(height), width_(width) {}

  void add(int y, int x) {
    rows_.push_back(y < height_ && x < width_ ? static_cast<int32_t>(y * width_ + x) : -1);
  }
  // Lines of positions, rows or columns; every second one backward if they `turn`.
  void add_lines(bool columns, bool turn) {
    const int lines = columns ? width_ : height_, length = columns ? height_ : width_;
    for (int line = 0; line < lines; ++line) {
      for (int n = 0; n < length; ++n) {
        const int at = turn && line % 2 == 1 ? length - 1 - n : n;
        columns ? add(at, line) : add(line, at);
      }
    }
  }
  void add_windows(int side) {
    for (int top = 0; top < height_; top += side) {
      for (int left = 0; left < width_; left += side) {
        for (int n = 0; n < side * side; ++n) add(top + n / side, left + n % side);
      }
    }
  }
  void add_subgrid(int part) {
    const int rows = (height_ + 1) / 2, cols = (width_ + 1) / 2;
    const bool columns = part % 2 == 1;
    for (int n = 0; n < rows * cols; ++n) {
      const int y = columns ? n % rows : n / cols, x = columns ? n / rows : n % cols;
      add(2 * y + part % 2, 2 * x + part / 2);
    }
  }

  std::vector<int32_t> take() { return std::move(rows_); }

 private:
  int height_, width_;
  std::vector<int32_t> rows_;
};

}  // namespace

namespace {

// The same path without its class token.
ScanPath grid_path(ScanPath path) {
  path.token = -1;
  return path;
}

// The rows of a grid with a class token put in.
std::vector<int32_t> with_token(std::vector<int32_t> rows, int token) {
  for (int32_t& row : rows) row += row >= token ? 1 : 0;
  rows.insert(rows.begin() + token, token);
  return rows;
}

}  // namespace

std::vector<int32_t> scan_rows(const ScanPath& path, int height, int width) {
  if (path.token >= 0) {
    const int lines = (height * width - 1) / path.columns;
    return with_token(scan_rows(grid_path(path), lines, path.columns), path.token);
  }
  Path made(height, width);
  switch (path.order) {
    case ScanOrder::kRows:
    case ScanOrder::kSnakeRows:
      made.add_lines(false, path.order == ScanOrder::kSnakeRows);
      break;
    case ScanOrder::kColumns:
    case ScanOrder::kSnakeColumns:
      made.add_lines(true, path.order == ScanOrder::kSnakeColumns);
      break;
    case ScanOrder::kWindows:
      made.add_windows(path.part);
      break;
    case ScanOrder::kSubgrid:
      made.add_subgrid(path.part);
      break;
  }
  std::vector<int32_t> rows = made.take();
  if (path.backward) std::reverse(rows.begin(), rows.end());
  return rows;
}

std::vector<int32_t> scan_sources(const SelectiveScanOp& op, const ScanPath& path, int height,
                                  int width, bool of_u) {
  using Taking = SelectiveScanOp::Taking;
  if (op.taking == Taking::kHalfGrid) {
    const ScanOrder order = path.part % 2 == 1 ? ScanOrder::kColumns : ScanOrder::kRows;
    return scan_rows({order, path.backward}, (height + 1) / 2, (width + 1) / 2);
  }
  std::vector<int32_t> rows = scan_rows(path, height, width);
  if (op.taking == Taking::kSequences || (op.taking == Taking::kOnlyUAlongPath && !of_u)) {
    std::iota(rows.begin(), rows.end(), 0);
  }
  return rows;
}

std::vector<int32_t> scan_targets(const SelectiveScanOp& op, const ScanPath& path, int height,
                                  int width) {
  if (!op.released_columns || path.order != ScanOrder::kColumns) {
    return scan_rows(path, height, width);
  }
  if (path.token >= 0) {
    const int lines = (height * width - 1) / path.columns;
    return with_token(scan_targets(op, grid_path(path), lines, path.columns), path.token);
  }
  // The released inverse gives position p the result at index (p % height) * width + p / height.
  std::vector<int32_t> targets(static_cast<size_t>(height) * static_cast<size_t>(width));
  for (int p = 0; p < height * width; ++p) {
    targets[static_cast<size_t>(p % height * width + p / height)] = p;
  }
  if (path.backward) std::reverse(targets.begin(), targets.end());
  return targets;
}

std::vector<int32_t> scan_moves(const ScanPath& path, int height, int width) {
  const std::vector<int32_t> rows = scan_rows(path, height, width);
  std::vector<int32_t> moves(rows.size(), 0);
  for (size_t n = 1; n < rows.size(); ++n) {
    const int32_t delta = rows[n] - rows[n - 1];
    // A grid of one column has no moves to the side.
    const bool down_or_up = rows[n] % width == rows[n - 1] % width;
    moves[n] = down_or_up ? (delta > 0 ? 4 : 3) : (delta > 0 ? 1 : 2);
  }
  return moves;
}

int64_t scan_length(const SelectiveScanOp& op, int height, int width) {
  int64_t length = 0;
  for (const ScanDirection& direction : op.directions) {
    if (direction.path.token >= 0) {
      length += static_cast<int64_t>(scan_rows(direction.path, height, width).size());
      continue;
    }
    const int64_t side = std::max(direction.path.part, 1);
    const auto whole = [](int64_t size, int64_t parts) { return (size + parts - 1) / parts; };
    switch (direction.path.order) {
      case ScanOrder::kWindows:
        length += whole(height, side) * whole(width, side) * side * side;
        break;
      case ScanOrder::kSubgrid:
        length += whole(height, 2) * whole(width, 2);
        break;
      case ScanOrder::kRows:
      case ScanOrder::kColumns:
      case ScanOrder::kSnakeRows:
      case ScanOrder::kSnakeColumns:
        length += static_cast<int64_t>(height) * width;
        break;
    }
  }
  return length;
}

S4Lines s4_lines(const S4ConvOp& op, int height, int width) {
  switch (op.axis) {
    case S4Axis::kDown:
      return {width, height};
    case S4Axis::kAcross:
      return {height, width};
    case S4Axis::kSequence:
      break;
  }
  return {1, int64_t{height} * width};
}

int64_t s4_pairs(const S4ConvOp& op, int64_t tokens) {
  // At distance n >= 0 behind and n + 1 ahead there are tokens - n and tokens - n - 1 pairs.
  const int64_t taps = std::min<int64_t>(op.length, tokens);
  return taps * (2 * tokens - taps);
}

// Subgrids have no position in common.
bool scan_adds(const SelectiveScanOp& op, size_t d) {
  return d > 0 && op.directions[d].path.order != ScanOrder::kSubgrid;
}

}  // namespace vig
