// Rotary position: the tables are resized to the grid once, before the first run.
#include "vig/kernels/rotary.h"

#include <algorithm>

#include "vig/base/buffer.h"
#include "vig/kernels/position.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class RotaryCall final : public KernelCall {
 public:
  RotaryCall(int in, int out, int cos, int sin, const RotaryOp& op)
      : KernelCall(out), in_(in), cos_(cos), sin_(sin), op_(op) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "pointwise"; }

  void bind(const Operands& operands) override {
    const Grid& grid = operands.grid(result());
    tables_ = Buffer(static_cast<size_t>(2 * grid.elements()) * sizeof(float));
    float* const cos = tables_.floats();
    float* const sin = cos + grid.elements();
    for (const auto& [param, table] : {std::pair(cos_, cos), std::pair(sin_, sin)}) {
      resize_positions({operands.weight(param), op_.rows, op_.cols, grid.channels, table,
                        grid.height, grid.width});
    }
    rotary_signs(sin, grid.elements(), sin);
  }
  size_t bound_bytes() const override { return tables_.bytes(); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Rows in = bindings.rows(in_, tile);
    float* const out = bindings.tile(result(), tile);
    RotaryArgs args;
    args.in_stride = in.stride;
    args.out_stride = bindings.stride(result());
    args.channels = bindings.channels(result());
    // A tile may reach over several images; the tables restart with each.
    for (int64_t row = tile.first; row < tile.last; row += args.rows) {
      const int64_t at = row % tile.positions;
      args.rows = std::min(tile.last - row, tile.positions - at);
      args.in = in.data + (row - tile.first) * in.stride;
      args.cos = tables_.floats() + at * args.channels;
      args.sin = args.cos + bindings.grid(result()).elements();
      args.out = out + (row - tile.first) * args.out_stride;
      rotary(args);
    }
  }

 private:
  int in_, cos_, sin_;
  RotaryOp op_;
  Buffer tables_;  // cosines, then sines
};

}  // namespace

void lower(const RotaryOp& op, Lowering& to) {
  to.add(std::make_unique<RotaryCall>(to.operand(0), to.result(), to.param(0), to.param(1), op));
}

}  // namespace vig
