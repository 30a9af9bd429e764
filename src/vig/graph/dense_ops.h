// Operations of dense prediction: on feature maps, and the sampling of deformable attention. Part
// of the set of ops.h.
#pragma once

#include <cstdint>
#include <vector>

namespace vig {

// The mean of each of cells x cells parts of the grid. Part i of an axis of n positions is
// [floor(i n / cells), ceil((i + 1) n / cells)): parts overlap where cells do not divide n.
struct AdaptivePoolOp {
  int cells = 1;
  bool operator==(const AdaptivePoolOp&) const = default;
};

// The mean of each window of side x side positions. Windows lie beside each other; positions behind
// the last whole one are left out.
struct AveragePoolOp {
  int side = 2;
  bool operator==(const AveragePoolOp&) const = default;
};

// x on the grid of the result, every channel by itself. kBilinear: half-pixel centres, the border
// repeated, no antialiasing. kNearest: row floor(i in / out), columns likewise.
enum class Resampling { kBilinear, kNearest };
struct ResizeOp {
  Resampling resampling = Resampling::kBilinear;
  bool operator==(const ResizeOp&) const = default;
};

// Transposed convolution of kernel 2 and stride 2, which doubles the grid:
// y[2 i + a, 2 j + b] = W[:, :, a, b]^T x[i, j] + bias. weight [in, out, 2, 2], bias [out].
struct UpsampleConvOp {
  bool operator==(const UpsampleConvOp&) const = default;
};

// The channels of all operands, which have one grid, one behind the other.
struct ConcatChannelsOp {
  bool operator==(const ConcatChannelsOp&) const = default;
};

// x + one row of a table [rows, channels], the same at every position.
struct AddRowOp {
  int row = 0;
  bool operator==(const AddRowOp&) const = default;
};

// Training sets whole channels of an image to zero with this probability and divides the others by
// 1 - rate; otherwise it is x.
struct DropChannelsOp {
  float rate = 0.1f;
  bool operator==(const DropChannelsOp&) const = default;
};

struct GridSize {
  int height = 0;
  int width = 0;
  int64_t positions() const { return static_cast<int64_t>(height) * width; }
  bool operator==(const GridSize&) const = default;
};

// The sampling of multi-scale deformable attention (kernels/deformable.h). Inputs: values, the rows
// of all `levels` one grid behind the other, [sum of positions, heads * d]; offsets, for every
// query, [heads, levels, points, (x, y)] in pixels of the sampled level; logits [heads, levels,
// points], of which a softmax over levels and points together makes weights. Queries are the rows
// of all `queries` one grid behind the other, and sample around the middle of their cell:
//   o[q, head] = sum over l, p of weight * values[l, head] at
//                ((i + 0.5) / width * width_l - 0.5 + x, (j + 0.5) / height * height_l - 0.5 + y)
// for the query in column i and row j; bilinear, where positions outside of the level count 0.
struct DeformableOp {
  int heads = 1;
  int points = 4;
  std::vector<GridSize> levels;
  std::vector<GridSize> queries;
  bool operator==(const DeformableOp& other) const {
    return heads == other.heads && points == other.points && levels.size() == other.levels.size() &&
           queries.size() == other.queries.size();
  }
};
// The positions of all grids together.
int64_t positions_of(const std::vector<GridSize>& grids);

}  // namespace vig
