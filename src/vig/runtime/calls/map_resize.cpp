// A map on another grid, and the sum of it with one that is there already.
#include "vig/kernels/map_resize.h"

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class MapResizeCall final : public KernelCall {
 public:
  MapResizeCall(int in, int out, int residual, Resampling resampling)
      : KernelCall(out), in_(in), residual_(residual), resampling_(resampling) {}

  std::vector<int> operands() const override {
    if (residual_ < 0) return {in_};
    return {in_, residual_};
  }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return residual_ >= 0 ? "resize + add" : "resize"; }

  void bind(const Operands& operands) override {
    const Grid &in = operands.grid(in_), &out = operands.grid(result());
    const auto make = resampling_ == Resampling::kBilinear ? MapGrids::bilinear : MapGrids::nearest;
    grids_ = make(in.height, in.width, out.height, out.width);
  }
  size_t bound_bytes() const override {
    return (grids_.lines.capacity() + grids_.columns.capacity()) * sizeof(MapTap);
  }

  void run(const Bindings& bindings, const Tile& tile) const override {
    MapResizeArgs args;
    args.grids = &grids_;
    args.in = bindings.row(in_, 0);
    args.in_stride = bindings.stride(in_);
    args.channels = bindings.channels(result());
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    if (residual_ >= 0) {
      args.residual = bindings.tile(residual_, tile);
      args.residual_stride = bindings.stride(residual_);
    }
    map_resize(args);
  }

 private:
  int in_, residual_;
  Resampling resampling_;
  MapGrids grids_;
};

}  // namespace

void lower(const ResizeOp& op, Lowering& to) {
  to.add(std::make_unique<MapResizeCall>(to.operand(0), to.result(), to.unit().residual,
                                         op.resampling));
}

}  // namespace vig
