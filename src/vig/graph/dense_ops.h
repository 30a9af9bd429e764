// Operations on feature maps: those of dense prediction with the sampling of deformable attention,
// and long convolutions along an axis. Part of the set of ops.h.
#pragma once

#include <cstddef>
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

// Which positions of a grid a long convolution joins.
enum class S4Axis {
  kSequence,  // all, row by row
  kDown,      // those of a column
  kAcross,    // those of a row
};

// A long convolution over T tokens, whose taps are the response of a linear state space (S4:
// kernels/s4_taps.h). x [T, d], y [T, copies * d]; for copy m and channel h, with L = `length`,
//   y[t, m d + h] = D[m, h] x[t, h] + sum over s <= t, t - s < L of K[m, h, t - s] x[s, h]
//                   + sum over s > t, s - t <= L of K[copies + m, h, s - t - 1] x[s, h]
// Parameters: D [copies, d], which may be missing; inv_dt [d, 1]; C [2 copies, d, N / 2, 2]; B [1,
// S, N / 2, 2]; A_real and A_imag [S, N / 2]; P like B; l_kernel, a number that no gradient
// changes. K [2 copies, d, L] follows from all but D and does not depend on the image. With a
// `channel` h >= 0 only that one of the d channels of the parameters counts: y[t, m] is copy m of
// channel m of x, which has `copies` channels, or of its only one.
struct S4ConvOp {
  int copies = 1;
  int length = 1;
  S4Axis axis = S4Axis::kSequence;
  int channel = -1;
  bool operator==(const S4ConvOp&) const = default;
};
// How many lines of a grid it goes along, and the tokens of each.
struct S4Lines {
  int64_t count = 1;
  int64_t tokens = 1;
};
S4Lines s4_lines(const S4ConvOp& op, int height, int width);
// The pairs (t, s) of `tokens` tokens of a line that it joins.
int64_t s4_pairs(const S4ConvOp& op, int64_t tokens);
// The parameters of its kernel among a node's, D aside.
inline constexpr size_t kS4KernelParams = 7;

}  // namespace vig
