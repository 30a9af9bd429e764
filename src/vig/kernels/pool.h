// Means over rows, and the largest values of windows.
#pragma once

#include <cstdint>

#include "vig/kernels/conv.h"

namespace vig {

// mean[c] = sum of rows[r * stride + c] / count, summed in blocks so that long sequences stay
// exact.
void mean_rows(const float* rows, int64_t stride, int64_t count, int64_t channels, float* mean);

// The same from parts of the rows, one call for each, in order: the same bits, however they are
// cut.
struct MeanPartArgs {
  const float* rows = nullptr;  // the first of the part
  int64_t stride = 0;
  int64_t first = 0, last = 0;  // rows of the part
  int64_t count = 0;            // of all parts
  int64_t channels = 0;
  float* sums = nullptr;  // [2, channels], kept from part to part
  float* mean = nullptr;  // written by the last part
};

void mean_rows_part(const MeanPartArgs& args);

// The largest value of each window, per channel; what is outside the grid does not count. Not a
// number counts as the largest.
struct MaxPoolArgs {
  const float* in = nullptr;  // the whole batch
  ConvGrid grid;
  Windows windows;
  int64_t first_row = 0;  // rows to compute, of the grid of windows
  int64_t last_row = 0;
  float* out = nullptr;  // the first of them
  int64_t out_stride = 0;
};

void max_pool(const MaxPoolArgs& args);

// The mean of each window of side x side positions, per channel; `windows` has that kernel and
// stride and no padding.
void average_pool(const MaxPoolArgs& args);

// The mean of each of cells x cells parts of a map, per channel. Part i of an axis of n positions
// is [floor(i n / cells), ceil((i + 1) n / cells)): parts overlap where cells do not divide n.
struct CellPoolArgs {
  const float* in = nullptr;  // one image, rows in_stride apart
  int64_t in_stride = 0;
  ConvGrid grid;
  int64_t cells = 1;
  float* out = nullptr;  // cells * cells rows, out_stride apart
  int64_t out_stride = 0;
};

void pool_cells(const CellPoolArgs& args);

inline int64_t cell_begin(int64_t i, int64_t size, int64_t cells) { return i * size / cells; }
inline int64_t cell_end(int64_t i, int64_t size, int64_t cells) {
  return ((i + 1) * size + cells - 1) / cells;
}

}  // namespace vig
