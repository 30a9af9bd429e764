// A depthwise convolution: one filter a channel.
#include "vig/kernels/conv.h"
#include "vig/runtime/steps/steps.h"

namespace vig {
namespace {

class DepthwiseStep final : public Step {
 public:
  DepthwiseStep(int in, int out, int weight, int kernel, Elementwise function)
      : Step(out), in_(in), weight_(weight), kernel_(kernel), function_(function) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "depthwise conv"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    return Packing{weight_, "taps", static_cast<size_t>(params[weight_].shape.elements())};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            float* to) const override {
    depthwise_taps(weights.data(static_cast<size_t>(weight_)), params[weight_].shape[0], kernel_,
                   to);
  }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& in = bindings.grid(in_);
    DepthwiseConvArgs args;
    args.in = bindings.row(in_, 0);
    args.grid = {in.height, in.width, in.channels};
    args.kernel = kernel_;
    args.taps = bindings.packed(weight_);
    args.function = function_;
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    depthwise_conv(args);
  }

 private:
  int in_, weight_, kernel_;
  Elementwise function_;
};

}  // namespace

void lower(const DepthwiseConvOp& op, Lowering& to) {
  to.add(std::make_unique<DepthwiseStep>(to.operand(0), to.result(), to.param(0), op.kernel,
                                         to.unit().function),
         to.macs());
}

}  // namespace vig
