#include "vig/runtime/steps/patches.h"

#include "vig/runtime/steps/windows.h"

namespace vig {
namespace {

class PatchStep final : public Step {
 public:
  PatchStep(int in, int out, const ConvOp& op) : Step(out), in_(in), op_(op) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "patches"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& in = bindings.grid(in_);
    const Grid& out = bindings.grid(result());
    PatchArgs args;
    args.in = bindings.row(in_, 0);
    args.grid = {in.height, in.width, in.channels};
    args.windows = windows_of(op_, in, out);
    args.groups = op_.groups;
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    gather_patches(args);
  }

 private:
  int in_;
  ConvOp op_;
};

}  // namespace

std::unique_ptr<Step> make_patches(int in, int out, const ConvOp& op) {
  return std::make_unique<PatchStep>(in, out, op);
}

}  // namespace vig
