// A depthwise convolution: one filter a channel.
#include <algorithm>

#include "vig/runtime/calls/batch_norm.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/windows.h"

namespace vig {
namespace {

class DepthwiseCall final : public KernelCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices; the bias may be -1
    BatchNormParams norm;
    DepthwiseConvOp op;
    Elementwise function = Elementwise::kIdentity;
  };
  explicit DepthwiseCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override { return {spec_.in}; }
  Reach reach() const override { return Reach::kNeighbours; }
  std::optional<RowRange> needed_rows(const Operands& operands, int,
                                      const RowRange& rows) const override {
    const Grid& in = operands.grid(spec_.in);
    return seen_rows(windows_of(spec_.op, in, operands.grid(result())), in, rows);
  }
  const char* kind() const override { return "depthwise conv"; }

  // Taps, and behind them the bias if there is one.
  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    const Shape& shape = params[spec_.weight].shape;
    const int64_t bias = has_bias() ? shape[0] : 0;
    return Packing{spec_.weight, packed_layout("taps", spec_.bias, spec_.norm),
                   static_cast<size_t>(shape.elements() + bias) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    const Shape& shape = params[spec_.weight].shape;
    const FoldedWeights folded = fold_norm(spec_.norm, weights, spec_.weight, spec_.bias, shape);
    depthwise_taps(folded.weight.data(), shape[0], spec_.op.kernel, to);
    if (has_bias()) std::copy(folded.bias.begin(), folded.bias.end(), to + shape.elements());
  }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& in = bindings.grid(spec_.in);
    DepthwiseConvArgs args;
    args.in = bindings.row(spec_.in, 0);
    args.grid = {in.height, in.width, in.channels};
    args.windows = windows_of(spec_.op, in, bindings.grid(result()));
    args.taps = bindings.packed(spec_.weight);
    if (has_bias()) args.bias = args.taps + bindings.shape(spec_.weight).elements();
    args.function = spec_.function;
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    depthwise_conv(args);
  }

 private:
  bool has_bias() const { return spec_.bias >= 0 || spec_.norm.exists(); }

  Spec spec_;
};

}  // namespace

void lower(const DepthwiseConvOp& op, Lowering& to) {
  DepthwiseCall::Spec spec;
  spec.in = to.operand(0);
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.norm = fused_norm(to);
  spec.op = op;
  spec.function = to.unit().function;
  to.add(std::make_unique<DepthwiseCall>(spec), to.macs());
}

}  // namespace vig
