// Operations on maps: other grids, channels of several maps, a row for all positions.
#include <algorithm>

#include "vig/onnx/ops.h"

namespace vig::onnx_format {

// A product with the share that each position has in each cell.
// A convolution with equal weights, one filter for each channel.
void write(const AveragePoolOp& op, OpWriter& to) {
  const int64_t channels = to.grid().channels, area = int64_t{op.side} * op.side;
  const std::vector<float> filters(static_cast<size_t>(channels * area),
                                   1.0f / static_cast<float>(area));
  const Axes side = {op.side, op.side};
  const std::string weight = to.nodes().floats({channels, 1, op.side, op.side}, filters);
  to.give(Form::kPlanes,
          to.nodes().add("Conv", {to.planes(0), weight},
                         {{"kernel_shape", side}, {"strides", side}, {"group", channels}}));
}

void write(const AdaptivePoolOp& op, OpWriter& to) {
  if (op.cells == 1) return write(MeanPoolOp{}, to);
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid& from = to.grid(0);
  const int64_t cells = op.cells, positions = from.positions();
  const auto begin = [&](int64_t i, int64_t size) { return i * size / cells; };
  const auto end = [&](int64_t i, int64_t size) { return ((i + 1) * size + cells - 1) / cells; };
  std::vector<float> shares(static_cast<size_t>(cells * cells * positions), 0.0f);
  for (int64_t cell = 0; cell < cells * cells; ++cell) {
    const int64_t y0 = begin(cell / cells, from.height), y1 = end(cell / cells, from.height);
    const int64_t x0 = begin(cell % cells, from.width), x1 = end(cell % cells, from.width);
    for (int64_t y = y0; y < y1; ++y) {
      std::fill_n(shares.begin() + cell * positions + y * from.width + x0, x1 - x0,
                  1.0f / static_cast<float>((y1 - y0) * (x1 - x0)));
    }
  }
  const std::string matrix = nodes.floats({cells * cells, positions}, shares);
  to.give(Form::kRows, nodes.product(matrix, to.rows(0)));
}

void write(const ResizeOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid &from = to.grid(0), &out = to.grid();
  if (op.resampling == Resampling::kNearest) {
    Axes rows;
    for (int64_t i = 0; i < out.positions(); ++i) {
      rows.push_back(i / out.width * from.height / out.height * from.width +
                     i % out.width * from.width / out.width);
    }
    return to.give(Form::kRows, nodes.gather(to.rows(0), 1, rows));
  }
  const std::string x = to.planes(0);
  const std::string kept = nodes.add("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{2}}});
  const std::string sizes = nodes.concat({kept, nodes.integers({out.height, out.width})}, 0);
  const std::string resized =
      nodes.add("Resize", {x, "", "", sizes},
                {{"mode", std::string("linear")},
                 {"coordinate_transformation_mode", std::string("half_pixel")}});
  to.give(Form::kPlanes, resized);
}

void write(const UpsampleConvOp&, OpWriter& to) {
  to.give(Form::kPlanes, to.nodes().add("ConvTranspose", {to.planes(0), to.stored(0), to.stored(1)},
                                        {{"kernel_shape", Axes{2, 2}}, {"strides", Axes{2, 2}}}));
}

void write(const ConcatChannelsOp&, OpWriter& to) {
  const Form form = to.form(0);
  Names parts;
  for (size_t i = 0; i < to.operands(); ++i) parts.push_back(to.in(i, form));
  to.give(form, to.nodes().concat(parts, to.channel_axis(form)));
}

void write(const AddRowOp& op, OpWriter& to) {
  const Form form = to.form(0);
  const std::vector<float> table = to.param(0);
  const auto first = table.begin() + int64_t{op.row} * to.grid().channels;
  const std::vector<float> row(first, first + to.grid().channels);
  to.give(form, to.nodes().plus(to.in(0, form), to.per_channel(form, row)));
}

void write(const DropChannelsOp&, OpWriter& to) { to.give_operand(0); }

}  // namespace vig::onnx_format
