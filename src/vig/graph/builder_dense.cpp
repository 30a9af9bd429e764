// Operations of dense prediction.
#include <algorithm>
#include <utility>

#include "vig/base/error.h"
#include "vig/graph/builder.h"

namespace vig {

Value Builder::adaptive_pool(Value x, int cells) {
  if (cells < 1) fail("[adaptive_pool] {} x {} cells, expected at least 1 x 1", cells, cells);
  return append(AdaptivePoolOp{cells}, {x.id}, {cells, cells, grid(x).channels});
}

Value Builder::resize(Value x, int height, int width, Resampling resampling) {
  const Grid in = grid(x);
  if (height < 1 || width < 1) {
    fail("[resize] to {} x {}, expected at least 1 x 1", height, width);
  }
  if (in.height == height && in.width == width) return x;
  return append(ResizeOp{resampling}, {x.id}, {height, width, in.channels});
}

Value Builder::average_pool(Value x, int side) {
  const Grid in = grid(x);
  if (side < 1 || in.height < side || in.width < side) {
    fail("[average_pool] windows of {} x {} in a grid of {} x {}, expected at least one", side,
         side, in.height, in.width);
  }
  return append(AveragePoolOp{side}, {x.id}, {in.height / side, in.width / side, in.channels});
}

Value Builder::upsample_conv(Value x, const std::string& name, int out_channels, Init weight,
                             Init bias) {
  const Grid in = grid(x);
  if (out_channels < 1) {
    fail("[upsample_conv] {} channels, expected at least 1 ({})", out_channels, name);
  }
  const std::vector<int> params = {
      param(name + ".weight", {in.channels, out_channels, 2, 2}, weight),
      param(name + ".bias", {out_channels}, bias)};
  return append(UpsampleConvOp{}, {x.id}, {2 * in.height, 2 * in.width, out_channels}, params);
}

Value Builder::concat_channels(const std::vector<Value>& parts) {
  if (parts.empty()) fail("[concat_channels] no operand, expected at least 1");
  Grid out = grid(parts[0]);
  out.channels = 0;
  std::vector<int> inputs;
  for (const Value part : parts) {
    const Grid in = grid(part);
    if (in.height != out.height || in.width != out.width) {
      fail("[concat_channels] grids of {} x {} and {} x {}, expected equal ones", out.height,
           out.width, in.height, in.width);
    }
    out.channels += in.channels;
    inputs.push_back(part.id);
  }
  return append(ConcatChannelsOp{}, std::move(inputs), out);
}

Value Builder::add_row(Value x, const std::string& name, int rows, int row, Init init) {
  if (row < 0 || row >= rows) fail("[add_row] row {}, expected one of {} ({})", row, rows, name);
  const int table = param(name, {rows, grid(x).channels}, init);
  return append(AddRowOp{row}, {x.id}, grid(x), {table});
}

Value Builder::drop_channels(Value x, float rate) {
  if (!(rate >= 0 && rate < 1)) fail("[drop_channels] rate {}, expected 0 to below 1", rate);
  return append(DropChannelsOp{rate}, {x.id}, grid(x));
}

Value Builder::linear_of_grid(Value x, const std::string& name, int out_channels, Init weight) {
  const Grid in = grid(x);
  if (in.height != in.width) {
    fail("[linear_of_grid] grid of {} x {}, expected a square ({})", in.height, in.width, name);
  }
  const std::vector<int> params = {param(name + ".weight", {out_channels, in.elements()}, weight),
                                   param(name + ".bias", {out_channels}, {})};
  return append(ConvOp{in.height, 1, 0, 1}, {x.id}, {1, 1, out_channels}, params);
}

Value Builder::deformable(Value values, Value offsets, Value logits, DeformableOp op) {
  const Grid in = grid(values);
  if (op.heads < 1 || op.points < 1 || op.levels.empty() || op.queries.empty() ||
      in.channels % std::max(op.heads, 1) != 0) {
    fail(
        "[deformable] {} heads of {} points over {} levels for {} channels, expected at least 1 of "
        "each and heads that divide the channels",
        op.heads, op.points, op.levels.size(), in.channels);
  }
  for (const auto* grids : {&op.levels, &op.queries}) {
    for (const GridSize& grid : *grids) {
      if (grid.height >= 1 && grid.width >= 1) continue;
      fail("[deformable] grid of {} x {}, expected at least 1 x 1", grid.height, grid.width);
    }
  }
  const int64_t samples = int64_t{op.heads} * static_cast<int64_t>(op.levels.size()) * op.points;
  const int64_t queries = positions_of(op.queries);
  if (in.positions() != positions_of(op.levels) || grid(offsets).positions() != queries ||
      grid(logits).positions() != queries || grid(offsets).channels != 2 * samples ||
      grid(logits).channels != samples) {
    fail(
        "[deformable] {} values, {} offsets of {} channels and {} logits of {} channels, expected "
        "{}, {} of {} and {} of {}",
        in.positions(), grid(offsets).positions(), grid(offsets).channels, grid(logits).positions(),
        grid(logits).channels, positions_of(op.levels), queries, 2 * samples, queries, samples);
  }
  const Grid out{grid(offsets).height, grid(offsets).width, in.channels};
  return append(std::move(op), {values.id, offsets.id, logits.id}, out);
}

}  // namespace vig
