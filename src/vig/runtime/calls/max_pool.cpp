// The largest value or the mean of each window.
#include "vig/kernels/pool.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/windows.h"

namespace vig {
namespace {

class WindowPoolCall final : public KernelCall {
 public:
  WindowPoolCall(int in, int out, const MaxPoolOp& op, void (*pool)(const MaxPoolArgs&))
      : KernelCall(out), in_(in), op_(op), pool_(pool) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "pool"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& in = bindings.grid(in_);
    MaxPoolArgs args;
    args.in = bindings.row(in_, 0);
    args.grid = {in.height, in.width, in.channels};
    args.windows = windows_of(op_, in, bindings.grid(result()));
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    pool_(args);
  }

 private:
  int in_;
  MaxPoolOp op_;
  void (*pool_)(const MaxPoolArgs&);
};

}  // namespace

void lower(const MaxPoolOp& op, Lowering& to) {
  to.add(std::make_unique<WindowPoolCall>(to.operand(0), to.result(), op, max_pool));
}

void lower(const AveragePoolOp& op, Lowering& to) {
  to.add(std::make_unique<WindowPoolCall>(to.operand(0), to.result(),
                                          MaxPoolOp{op.side, op.side, 0}, average_pool));
}

}  // namespace vig
