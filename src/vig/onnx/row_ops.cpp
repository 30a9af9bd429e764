// Operations that move rows and channels, and tables that are added to them.
#include <algorithm>
#include <array>

#include "vig/kernels/position.h"
#include "vig/kernels/rotary.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {

void write(const InputOp& op, OpWriter& to) { to.give_input(op.name); }

// The table is resized here, once, as the size of the image is known.
void write(const AddPositionOp& op, OpWriter& to) {
  to.fix_size();
  const int64_t channels = to.grid().channels;
  const std::vector<float> table = to.param(0);
  const std::vector<int64_t> from = table_cells(op), target = sequence_cells(op);
  std::vector<float> cells(from.size() * static_cast<size_t>(channels));
  std::vector<float> resized(target.size() * static_cast<size_t>(channels));
  std::vector<float> sequence(static_cast<size_t>(to.grid().elements()));
  const auto copy_row = [channels](const std::vector<float>& source, int64_t row,
                                   std::vector<float>& result, int64_t at) {
    std::copy_n(source.begin() + row * channels, channels, result.begin() + at * channels);
  };
  for (size_t i = 0; i < from.size(); ++i) {
    copy_row(table, from[i], cells, static_cast<int64_t>(i));
  }
  resize_positions({cells.data(), op.rows, op.cols, channels, resized.data(), op.height, op.width});
  for (size_t i = 0; i < target.size(); ++i) {
    copy_row(resized, static_cast<int64_t>(i), sequence, target[i]);
  }
  for (const ExtraRow& row : op.extra) {
    if (row.sequence != kNoSequenceRow) copy_row(table, row.table, sequence, row.sequence);
  }
  const std::string stored =
      to.nodes().parameter(to.spec(0).name, {1, to.grid().positions(), channels}, sequence);
  to.give(Form::kRows, to.nodes().plus(to.rows(0), stored));
}

// x cos + (the other channel of each pair) sin, with the signs in the tables. They are resized
// here.
void write(const RotaryOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid& grid = to.grid();
  std::array<std::string, 2> tables;
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::vector<float> table = to.param(i);
    std::vector<float> resized(static_cast<size_t>(grid.elements()));
    resize_positions(
        {table.data(), op.rows, op.cols, grid.channels, resized.data(), grid.height, grid.width});
    if (i == 1) rotary_signs(resized.data(), grid.elements(), resized.data());
    tables[i] = nodes.parameter(to.spec(i).name, {1, grid.positions(), grid.channels}, resized);
  }
  Axes others(static_cast<size_t>(grid.channels));
  for (size_t c = 0; c < others.size(); ++c) others[c] = static_cast<int64_t>(c ^ 1);
  const std::string x = to.rows(0);
  to.give(Form::kRows,
          nodes.plus(nodes.mul(x, tables[0]), nodes.mul(nodes.gather(x, 2, others), tables[1])));
}

void write(const TokensOp&, OpWriter& to) { to.give(Form::kRows, to.stored(0)); }

void write(const InsertRowsOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const std::string x = to.rows(0);
  std::string more = to.rows(1);
  if (to.is_constant(1)) {  // the same rows for every image of the batch
    const std::string batch = nodes.add("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
    const std::string shape =
        nodes.concat({batch, nodes.integers({to.grid(1).positions(), to.grid(1).channels})}, 0);
    more = nodes.add("Expand", {more, shape});
  }
  const int64_t length = to.grid(0).positions();
  Names parts;
  if (op.at > 0) parts.push_back(op.at < length ? nodes.slice(x, 1, 0, op.at) : x);
  parts.push_back(more);
  if (op.at < length) parts.push_back(op.at > 0 ? nodes.slice(x, 1, op.at, length) : x);
  to.give(Form::kRows, nodes.concat(parts, 1));
}

void write(const SelectRowsOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const int64_t rows = to.grid().positions();
  const std::string part = nodes.slice(to.rows(0), 1, op.first, op.first + rows);
  if (rows == 1) {
    to.give(Form::kVector, nodes.reshape(part, {0, to.grid().channels}));
  } else {
    to.give(Form::kRows, part);
  }
}

void write(const SelectChannelsOp& op, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, to.nodes().slice(to.in(0, form), to.channel_axis(form), op.first,
                                 op.first + to.grid().channels));
}

void write(const SpaceToDepthOp&, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid &from = to.grid(0), &half = to.grid();
  std::string x = nodes.reshape(to.rows(0), {0, from.height, from.width, from.channels});
  x = nodes.pad(x, {0, 0, 0, 0}, {0, from.height % 2, from.width % 2, 0});
  x = nodes.reshape(x, {0, half.height, 2, half.width, 2, from.channels});
  // Columns of a cell before its rows: (0, 0), (1, 0), (0, 1), (1, 1).
  x = nodes.transpose(x, {0, 1, 3, 4, 2, 5});
  to.give(Form::kRows, nodes.reshape(x, to.row_shape(half.channels)));
}

// A quarter of the channels from each neighbour: left, right, above, below.
void write(const QShiftOp&, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const Grid& from = to.grid(0);
  const int64_t height = from.height, width = from.width, channels = from.channels;
  const std::string x = to.rows(0);
  const std::string grid = nodes.reshape(x, {0, height, width, channels});
  Axes sizes;
  for (int64_t g = 0; g < 4; ++g) sizes.push_back((g + 1) * channels / 4 - g * channels / 4);
  Names quarters;
  const Names parts = nodes.split(grid, -1, sizes);
  for (size_t g = 0; g < parts.size(); ++g) {
    const int64_t axis = g < 2 ? 2 : 1, size = axis == 2 ? width : height;
    const bool from_before = g % 2 == 0;  // the neighbour has the smaller index
    Axes before(4, 0), behind(4, 0);
    (from_before ? before : behind)[static_cast<size_t>(axis)] = 1;
    const std::string kept = nodes.slice(nodes.pad(parts[g], before, behind), axis,
                                         from_before ? 0 : 1, from_before ? size : size + 1);
    quarters.push_back(kept);
  }
  const std::string shifted =
      nodes.reshape(nodes.concat(quarters, -1), {0, height * width, channels});
  const std::string apart = nodes.minus(x, shifted);
  Names mixed;  // s + (x - s) m
  for (size_t n = 0; n < to.params(); ++n) {
    mixed.push_back(nodes.plus(shifted, nodes.mul(apart, to.stored(n))));
  }
  to.give(Form::kRows, nodes.concat(mixed, -1));
}

}  // namespace vig::onnx_format
