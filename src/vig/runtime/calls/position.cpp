// The sum with a position table, which is resized to the grid once, before the first run.
#include "vig/kernels/position.h"

#include <algorithm>

#include "vig/base/buffer.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

// The table's grid resized, with the extra rows at their places in the sequence.
void fit_positions(const AddPositionOp& op, const float* table, int64_t channels, float* out) {
  const auto copy = [&](const float* from, int64_t row, float* to, int64_t at) {
    std::copy_n(from + row * channels, channels, to + at * channels);
  };
  const std::vector<int64_t> from = table_cells(op), to = sequence_cells(op);
  std::vector<float> grid(from.size() * static_cast<size_t>(channels));
  std::vector<float> resized(to.size() * static_cast<size_t>(channels));
  for (size_t i = 0; i < from.size(); ++i) {
    copy(table, from[i], grid.data(), static_cast<int64_t>(i));
  }
  resize_positions({grid.data(), op.rows, op.cols, channels, resized.data(), op.height, op.width});
  for (size_t i = 0; i < to.size(); ++i) copy(resized.data(), static_cast<int64_t>(i), out, to[i]);
  for (const ExtraRow& row : op.extra) {
    if (row.sequence != kNoSequenceRow) copy(table, row.table, out, row.sequence);
  }
}

class PositionCall final : public KernelCall {
 public:
  PositionCall(int in, int out, int table, const AddPositionOp& op)
      : KernelCall(out), in_(in), param_(table), op_(op) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "pointwise"; }

  void bind(const Operands& operands) override {
    const int64_t channels = operands.channels(result());
    table_ = operands.weight(param_);
    if (op_.rows == op_.height && op_.cols == op_.width && extra_stay()) return;
    fitted_ = Buffer(static_cast<size_t>(operands.grid(result()).elements()) * sizeof(float));
    fit_positions(op_, table_, channels, fitted_.floats());
    table_ = fitted_.floats();
  }
  // Rows of a resized grid are made when they are added.
  void bind_segments(const Operands& operands) override {
    if (!op_.extra.empty()) return bind(operands);
    table_ = operands.weight(param_);
    resizes_ = op_.rows != op_.height || op_.cols != op_.width;
  }
  size_t bound_bytes() const override { return fitted_.bytes(); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Rows in = bindings.rows(in_, tile);
    float* const out = bindings.tile(result(), tile);
    PointwiseArgs args;
    args.kind = kSum;
    args.a.stride = in.stride;
    args.out_stride = bindings.stride(result());
    args.channels = bindings.channels(result());
    if (resizes_) {  // of one image
      resize_positions({table_, op_.rows, op_.cols, args.channels, out, op_.height, op_.width},
                       tile.first, tile.last, args.out_stride);
      args.a.data = in.data;
      args.b = {out, args.out_stride};
      args.out = out;
      args.rows = tile.rows();
      return pointwise(args);
    }
    // A tile may reach over several images; the table begins anew with each.
    for (int64_t row = tile.first; row < tile.last; row += args.rows) {
      const int64_t at = row % tile.positions;
      args.rows = std::min(tile.last - row, tile.positions - at);
      args.a.data = in.data + (row - tile.first) * in.stride;
      args.b = {table_ + at * args.channels, args.channels};
      args.out = out + (row - tile.first) * args.out_stride;
      pointwise(args);
    }
  }

 private:
  // Whether extra rows have the same place in the table and in the sequence.
  bool extra_stay() const {
    return std::all_of(op_.extra.begin(), op_.extra.end(),
                       [](const ExtraRow& row) { return row.table == row.sequence; });
  }

  int in_, param_;
  AddPositionOp op_;
  const float* table_ = nullptr;
  Buffer fitted_;
  bool resizes_ = false;  // in `run`
};

}  // namespace

void lower(const AddPositionOp& op, Lowering& to) {
  to.add(std::make_unique<PositionCall>(to.operand(0), to.result(), to.param(0), op));
}

}  // namespace vig
