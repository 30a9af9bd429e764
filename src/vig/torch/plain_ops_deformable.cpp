// The sampling of multi-scale deformable attention in LibTorch's own operations: every level is a
// batch of maps, one for each head, that a grid samples.
#include <vector>

#include "vig/torch/plain_ops.h"

namespace vig::train {
namespace {

// The middle of every query's cell, (x, y) in 0..1: [1, Q, 1, 2].
at::Tensor query_positions(const std::vector<GridSize>& grids, const at::Tensor& like) {
  std::vector<double> positions;
  for (const GridSize& grid : grids) {
    for (int j = 0; j < grid.height; ++j) {
      for (int i = 0; i < grid.width; ++i) {
        positions.push_back((i + 0.5) / grid.width);
        positions.push_back((j + 0.5) / grid.height);
      }
    }
  }
  return at::tensor(positions, at::kDouble).to(like.options()).view({1, -1, 1, 2});
}

}  // namespace

at::Tensor PlainOps::deformable(const at::Tensor& values, const at::Tensor& offsets,
                                const at::Tensor& logits, const DeformableOp& op) {
  const int64_t batch = values.size(0), heads = op.heads, points = op.points;
  const auto levels = static_cast<int64_t>(op.levels.size());
  const int64_t queries = offsets.size(1) * offsets.size(2), width = values.size(3);
  // Heads beside images: [batch * heads, Q, ..].
  const auto by_head = [&](const at::Tensor& x) {
    return x.reshape({batch, queries, heads, -1}).transpose(1, 2).flatten(0, 1);
  };
  const at::Tensor weights = by_head(logits).softmax(-1);
  const at::Tensor moves = by_head(offsets).view({batch * heads, queries, levels * points, 2});
  const at::Tensor maps = values.flatten(1, 2).transpose(1, 2);  // [batch, channels, positions]
  const at::Tensor positions = query_positions(op.queries, values);
  std::vector<at::Tensor> samples;
  int64_t first = 0;
  for (int64_t l = 0; l < levels; ++l) {
    const GridSize& level = op.levels[static_cast<size_t>(l)];
    const at::Tensor map = maps.narrow(2, first, level.positions())
                               .reshape({batch * heads, width / heads, level.height, level.width});
    const at::Tensor size = at::tensor({double(level.width), double(level.height)}, at::kDouble);
    const at::Tensor at =
        positions + moves.narrow(2, l * points, points) / size.to(values.options());
    samples.push_back(at::grid_sampler(map, at * 2 - 1, 0, 0, false));  // bilinear, zeros
    first += level.positions();
  }
  return (at::cat(samples, 3) * weights.unsqueeze(1))
      .sum(3)
      .view({batch, width, queries})
      .transpose(1, 2)
      .reshape({batch, offsets.size(1), offsets.size(2), width});
}

}  // namespace vig::train
