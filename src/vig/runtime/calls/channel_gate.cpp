// A map times one row of channels an image.
#include <algorithm>

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class ChannelGateCall final : public KernelCall {
 public:
  ChannelGateCall(int in, int gate, int out) : KernelCall(out), in_(in), gate_(gate) {}

  std::vector<int> operands() const override { return {in_, gate_}; }
  Reach reach() const override { return Reach::kNeighbours; }  // the gate is no row of the map
  const char* kind() const override { return "pointwise"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    PointwiseArgs args;
    args.kind = kProduct;
    args.out_stride = bindings.stride(result());
    args.channels = bindings.channels(result());
    // A tile may hold rows of several images.
    for (int64_t row = tile.first; row < tile.last; row += args.rows) {
      const int64_t image = row / tile.positions;
      args.rows = std::min(tile.last, (image + 1) * tile.positions) - row;
      args.a = {bindings.row(in_, row), bindings.stride(in_)};
      args.b = {bindings.row(gate_, image), 0};
      args.out = bindings.tile(result(), tile) + (row - tile.first) * args.out_stride;
      pointwise(args);
    }
  }

 private:
  int in_, gate_;
};

}  // namespace

void lower(const ChannelGateOp&, Lowering& to) {
  to.add(std::make_unique<ChannelGateCall>(to.operand(0), to.operand(1), to.result()));
}

}  // namespace vig
