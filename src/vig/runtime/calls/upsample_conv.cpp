// The transposed convolution that doubles a map.
#include "vig/kernels/upsample_conv.h"

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class UpsampleConvCall final : public KernelCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices
    int residual = -1;           // value that is added, or -1
    Elementwise function = Elementwise::kIdentity;
  };
  explicit UpsampleConvCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override {
    if (spec_.residual < 0) return {spec_.in};
    return {spec_.in, spec_.residual};
  }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return spec_.residual >= 0 ? "conv + add" : "conv"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    const Shape& shape = params[spec_.weight].shape;
    return Packing{spec_.weight, "panels of 4 filters",
                   upsample_packed_floats(shape[0], shape[1]) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    const Shape& shape = params[spec_.weight].shape;
    upsample_pack(weights.floats(static_cast<size_t>(spec_.weight)).data(),
                  weights.data(static_cast<size_t>(spec_.bias)), shape[0], shape[1], to);
  }

  void bind(const Operands& operands) override {
    const Grid& in = operands.grid(spec_.in);
    shape_ = {in.height, in.width, in.channels, operands.channels(result())};
  }

  bool has_columns() const override { return true; }
  int64_t column_blocks() const override {
    return upsample_blocks(shape_.in_channels, shape_.out_channels);
  }

  void run(const Bindings& bindings, const Tile& tile) const override {
    UpsampleConvArgs args;
    args.shape = shape_;
    args.in = bindings.row(spec_.in, 0);
    args.in_stride = bindings.stride(spec_.in);
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
    upsample_conv(args);
  }

 private:
  Spec spec_;
  UpsampleShape shape_;
};

}  // namespace

void lower(const UpsampleConvOp&, Lowering& to) {
  UpsampleConvCall::Spec spec;
  spec.in = to.operand(0);
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.residual = to.unit().residual;
  spec.function = to.unit().function;
  to.add(std::make_unique<UpsampleConvCall>(spec), to.macs());
}

}  // namespace vig
