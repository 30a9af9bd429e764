// A dense or grouped convolution.
#include <fmt/format.h>

#include "vig/kernels/conv_dense.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/int8_product.h"
#include "vig/runtime/calls/product.h"
#include "vig/runtime/calls/windows.h"

namespace vig {
namespace {

class ConvCall final : public KernelCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices; the bias may be -1
    BatchNormParams norm;        // folded into the weights, if there is one
    ConvOp op;
    int residual = -1;  // value that is added, or -1
    Elementwise function = Elementwise::kIdentity;
  };
  explicit ConvCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override {
    if (spec_.residual < 0) return {spec_.in};
    return {spec_.in, spec_.residual};
  }
  Reach reach() const override { return Reach::kNeighbours; }
  std::optional<RowRange> needed_rows(const Operands& operands, int operand,
                                      const RowRange& rows) const override {
    if (operand != spec_.in) return rows;
    const Grid& in = operands.grid(spec_.in);
    const RowRange seen = seen_rows(shape_.windows, in, rows);
    if (operand != spec_.residual) return seen;
    return RowRange{std::min(seen.first, rows.first), std::max(seen.last, rows.last)};
  }
  const char* kind() const override { return spec_.residual >= 0 ? "conv + add" : "conv"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    const std::string layout =
        spec_.op.groups == 1 ? "panels" : fmt::format("panels of {} groups", spec_.op.groups);
    return Packing{spec_.weight, packed_layout(layout, spec_.bias, spec_.norm),
                   conv_packed_floats(filters(params[spec_.weight].shape)) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    const Shape& shape = params[spec_.weight].shape;
    const FoldedWeights folded = fold_norm(spec_.norm, weights, spec_.weight, spec_.bias, shape);
    conv_pack(filters(shape), folded.weight.data(), folded.bias.data(), to);
  }

  void bind(const Operands& operands) override {
    const Grid& in = operands.grid(spec_.in);
    shape_ = filters(operands.shape(spec_.weight));
    shape_.in = {in.height, in.width, in.channels};
    shape_.windows = windows_of(spec_.op, in, operands.grid(result()));
  }

  bool has_columns() const override { return true; }
  int64_t column_blocks() const override { return conv_blocks(shape_); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    DenseConvArgs args;
    args.shape = shape_;
    args.in = bindings.row(spec_.in, 0);
    args.panels = bindings.packed(spec_.weight);
    args.function = spec_.function;
    args.first_row = tile.first;
    args.last_row = tile.last;
    args.first_block = tile.first_block;
    args.last_block = tile.last_block;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    if (spec_.residual >= 0) {
      args.residual = bindings.tile(spec_.residual, tile);
      args.residual_stride = bindings.stride(spec_.residual);
    }
    dense_conv(args);
  }

 private:
  // What packing needs to know of a bank of filters [out, in / groups, kernel, kernel], of which a
  // layer over a whole grid has the last axes in one.
  ConvShape filters(const Shape& shape) const {
    ConvShape conv;
    const int64_t kernel = spec_.op.kernel;
    conv.in.channels = shape.elements() / shape[0] / (kernel * kernel) * spec_.op.groups;
    conv.windows.kernel = kernel;
    conv.out_channels = shape[0];
    conv.groups = spec_.op.groups;
    return conv;
  }

  Spec spec_;
  ConvShape shape_;
};

}  // namespace

void lower(const ConvOp& op, Lowering& to) {
  if (is_linear(op)) return add_product(to);
  if (to.int8()) return add_int8_conv(to, product_spec(to), op);
  ConvCall::Spec spec;
  spec.in = to.operand(0);
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.norm = fused_norm(to);
  spec.op = op;
  spec.residual = to.unit().residual;
  spec.function = to.unit().function;
  to.add(std::make_unique<ConvCall>(spec), to.macs());
}

}  // namespace vig
