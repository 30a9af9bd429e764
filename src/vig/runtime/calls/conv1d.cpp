// A causal convolution along the sequence, in either direction.
#include "vig/kernels/conv1d.h"

#include <algorithm>

#include "vig/graph/scan_path.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class Conv1dCall final : public KernelCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices; the bias may be -1
    Conv1dOp op;
    Elementwise function = Elementwise::kIdentity;
  };
  explicit Conv1dCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override { return {spec_.in}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "conv1d"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    return Packing{spec_.weight, "taps",
                   static_cast<size_t>(params[spec_.weight].shape.elements()) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    conv1d_taps(weights.data(static_cast<size_t>(spec_.weight)), params[spec_.weight].shape[0],
                spec_.op.width, to);
  }

  void bind(const Operands& operands) override {
    const Grid& from = operands.grid(spec_.in);
    if (spec_.op.ordered) order_ = scan_rows(spec_.op.path, from.height, from.width);
  }
  size_t bound_bytes() const override { return order_.size() * sizeof(int32_t); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const int64_t tokens = bindings.grid(spec_.in).positions();
    const int64_t stride = bindings.stride(spec_.in), out_stride = bindings.stride(result());
    float* const out = bindings.tile(result(), tile);
    Conv1dArgs args;
    args.channels = args.taps_stride = bindings.channels(result());
    args.width = spec_.op.width;
    args.taps = bindings.packed(spec_.weight);
    if (spec_.bias >= 0) args.bias = bindings.weight(spec_.bias);
    args.function = spec_.function;
    // The tile's rows of one image after the other.
    for (int64_t row = tile.first; row < tile.last;) {
      const int64_t at = row % tile.positions, end = tile.positions - 1;
      const int64_t rows = std::min(tile.last - row, tile.positions - at);
      const float* in = bindings.row(spec_.in, row / tile.positions * tokens) + spec_.op.first;
      float* to = out + (row - tile.first) * out_stride;  // row `at`
      if (spec_.op.ordered) {
        args.in = {in, stride, order_.data()};
        args.out = {to - at * out_stride, out_stride, nullptr};
        args.first = at;
      } else if (spec_.op.path.backward) {
        args.in = {in + end * stride, -stride, nullptr};
        args.out = {to + (end - at) * out_stride, -out_stride, nullptr};
        args.first = tile.positions - at - rows;
      } else {
        args.in = {in, stride, nullptr};
        args.out = {to - at * out_stride, out_stride, nullptr};
        args.first = at;
      }
      args.last = args.first + rows;
      conv1d(args);
      row += rows;
    }
  }

 private:
  Spec spec_;
  std::vector<int32_t> order_;
};

}  // namespace

void lower(const Conv1dOp& op, Lowering& to) {
  Conv1dCall::Spec spec;
  spec.in = to.operand(0);
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.op = op;
  spec.function = to.unit().function;
  to.add(std::make_unique<Conv1dCall>(spec), to.macs());
}

}  // namespace vig
