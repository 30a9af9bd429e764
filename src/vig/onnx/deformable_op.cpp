// The sampling of multi-scale deformable attention. Heads stand beside images, so that GridSample
// takes every level as a batch of maps [batch * heads, D, H, W] and its positions as [batch *
// heads, queries, points, (x, y)] from -1 to 1 over the whole map, which is x W - 0.5 in pixels.
#include "vig/onnx/ops.h"

namespace vig::onnx_format {

void write(const DeformableOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const auto levels = static_cast<int64_t>(op.levels.size());
  const int64_t queries = to.grid().positions(), width = to.grid().channels;
  const int64_t samples = levels * op.points;
  // [batch, queries, heads * n] to [batch * heads, queries, n].
  const auto by_head = [&](const std::string& x, int64_t n) {
    const std::string apart = nodes.reshape(x, {0, queries, op.heads, n});
    return nodes.reshape(nodes.transpose(apart, {0, 2, 1, 3}), {-1, queries, n});
  };
  const std::string offsets = by_head(to.rows(1), 2 * samples);
  const std::string weights =
      nodes.add("Softmax", {by_head(to.rows(2), samples)}, {{"axis", int64_t{-1}}});
  const std::string values = to.rows(0);

  Names sampled;
  int64_t first = 0;
  for (int64_t l = 0; l < levels; ++l) {
    const GridSize& level = op.levels[static_cast<size_t>(l)];
    std::string map =
        levels == 1 ? values : nodes.slice(values, 1, first, first + level.positions());
    first += level.positions();
    map = nodes.reshape(nodes.transpose(map, {0, 2, 1}),
                        {-1, width / op.heads, level.height, level.width});
    std::vector<float> base, factor;
    for (int64_t p = 0; p < op.points; ++p) {
      factor.push_back(2.0f / static_cast<float>(level.width));
      factor.push_back(2.0f / static_cast<float>(level.height));
    }
    for (const GridSize& grid : op.queries) {
      for (int64_t q = 0; q < grid.positions(); ++q) {
        for (int64_t p = 0; p < op.points; ++p) {
          const auto middle = [](int64_t i, int n) {
            return static_cast<float>((2.0 * static_cast<double>(i) + 1.0) / n - 1.0);
          };
          base.push_back(middle(q % grid.width, grid.width));
          base.push_back(middle(q / grid.width, grid.height));
        }
      }
    }
    std::string position = nodes.slice(offsets, 2, 2 * l * op.points, 2 * (l + 1) * op.points);
    position = nodes.plus(nodes.mul(position, nodes.floats({1, 1, 2 * op.points}, factor)),
                          nodes.floats({1, queries, 2 * op.points}, base));
    position = nodes.reshape(position, {0, queries, op.points, 2});
    sampled.push_back(nodes.add("GridSample", {map, position},
                                {{"mode", std::string("bilinear")},
                                 {"padding_mode", std::string("zeros")},
                                 {"align_corners", int64_t{0}}}));
  }
  const std::string all = levels == 1 ? sampled[0] : nodes.concat(sampled, 3);
  const std::string sums =
      nodes.sum_over(nodes.mul(all, nodes.unsqueeze(weights, {1})), {3});  // [batch * heads, D, Q]
  to.give(Form::kRows, nodes.transpose(nodes.reshape(sums, {-1, width, queries}), {0, 2, 1}));
}

}  // namespace vig::onnx_format
