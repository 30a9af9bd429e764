// LayerNorm and RMSNorm.
#include "vig/kernels/norm.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class NormCall final : public KernelCall {
 public:
  // Parameter indices; a bias means LayerNorm.
  NormCall(int in, int out, int weight, int bias, float eps, int groups)
      : KernelCall(out), in_(in), weight_(weight), bias_(bias), eps_(eps), groups_(groups) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "norm"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    NormArgs args;
    args.in = bindings.tile(in_, tile);
    args.in_stride = bindings.stride(in_);
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    args.rows = tile.rows();
    args.channels = bindings.channels(result());
    args.eps = eps_;
    args.weight = bindings.weight(weight_);
    args.groups = groups_;
    if (bias_ >= 0) {
      args.bias = bindings.weight(bias_);
      layer_norm(args);
    } else {
      rms_norm(args);
    }
  }

 private:
  int in_, weight_, bias_;
  float eps_;
  int groups_;
};

}  // namespace

void lower(const LayerNormOp& op, Lowering& to) {
  to.add(
      std::make_unique<NormCall>(to.operand(0), to.result(), to.param(0), to.param(1), op.eps, 1));
}

void lower(const RmsNormOp& op, Lowering& to) {
  to.add(
      std::make_unique<NormCall>(to.operand(0), to.result(), to.param(0), -1, op.eps, op.groups));
}

}  // namespace vig
