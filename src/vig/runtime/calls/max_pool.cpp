// The largest value of each window.
#include "vig/kernels/pool.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/windows.h"

namespace vig {
namespace {

class MaxPoolCall final : public KernelCall {
 public:
  MaxPoolCall(int in, int out, const MaxPoolOp& op) : KernelCall(out), in_(in), op_(op) {}

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
    max_pool(args);
  }

 private:
  int in_;
  MaxPoolOp op_;
};

}  // namespace

void lower(const MaxPoolOp& op, Lowering& to) {
  to.add(std::make_unique<MaxPoolCall>(to.operand(0), to.result(), op));
}

}  // namespace vig
