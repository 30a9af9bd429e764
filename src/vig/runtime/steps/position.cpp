// The sum with a position table, which is resized to the grid once, before the first run.
#include "vig/kernels/position.h"

#include <algorithm>

#include "vig/base/buffer.h"
#include "vig/runtime/steps/steps.h"

namespace vig {
namespace {

class PositionStep final : public Step {
 public:
  PositionStep(int in, int out, int table, const AddPositionOp& op)
      : Step(out), in_(in), param_(table), op_(op) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "pointwise"; }

  void bind(const Bindings& bindings) override {
    const Grid& grid = bindings.grid(result());
    table_ = bindings.weight(param_);
    if (op_.rows == grid.height && op_.cols == grid.width) return;
    fitted_ = Buffer(static_cast<size_t>(grid.elements()) * sizeof(float));
    resize_positions(
        {table_, op_.rows, op_.cols, grid.channels, fitted_.floats(), grid.height, grid.width});
    table_ = fitted_.floats();
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
    // A tile may reach over several pictures; the table begins anew with each.
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
  int in_, param_;
  AddPositionOp op_;
  const float* table_ = nullptr;
  Buffer fitted_;
};

}  // namespace

void lower(const AddPositionOp& op, Lowering& to) {
  to.add(std::make_unique<PositionStep>(to.operand(0), to.result(), to.param(0), op));
}

}  // namespace vig
