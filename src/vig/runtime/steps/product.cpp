#include "vig/runtime/steps/product.h"

#include "vig/runtime/steps/steps.h"

namespace vig {
namespace {

// Rows and columns of a weight: [out, in], or [out, in, 1, 1] of a convolution.
int64_t outputs(const Shape& shape) { return shape[0]; }
int64_t inputs(const Shape& shape) { return shape.elements() / shape[0]; }

}  // namespace

std::vector<int> ProductStep::operands() const {
  if (spec_.residual < 0) return {spec_.in};
  return {spec_.in, spec_.residual};
}

const char* ProductStep::kind() const {
  if (spec_.paired) return "linear + swiglu";
  if (spec_.function == Elementwise::kDecay) return "linear + decay";
  return spec_.residual >= 0 ? "linear + add" : "linear";
}

std::optional<Packing> ProductStep::packing(const std::vector<ParamSpec>& params) const {
  const Shape& shape = params[spec_.weight].shape;
  return Packing{spec_.weight, packed_layout(spec_.paired ? "paired panels" : "panels", spec_.norm),
                 gemm_packed_floats(outputs(shape), inputs(shape), spec_.paired)};
}

void ProductStep::pack(const std::vector<ParamSpec>& params, const Weights& weights,
                       float* to) const {
  const Shape& shape = params[spec_.weight].shape;
  const float* weight = weights.data(static_cast<size_t>(spec_.weight));
  const float* bias = spec_.bias < 0 ? nullptr : weights.data(static_cast<size_t>(spec_.bias));
  FoldedWeights folded;
  if (spec_.norm.exists()) {
    folded = fold_norm(spec_.norm, weights, spec_.weight, spec_.bias, shape);
    weight = folded.weight.data();
    bias = folded.bias.data();
  }
  gemm_pack(weight, bias, outputs(shape), inputs(shape), spec_.paired, to);
}

void ProductStep::bind(const Bindings& bindings) {
  const Shape& shape = bindings.shape(spec_.weight);
  matrix_ = {bindings.packed(spec_.weight), outputs(shape), inputs(shape), spec_.paired};
}

int64_t ProductStep::column_blocks() const { return gemm_panels(matrix_); }

void ProductStep::run(const Bindings& bindings, const Tile& tile) const {
  GemmArgs args;
  args.a = bindings.tile(spec_.in, tile);
  args.lda = bindings.stride(spec_.in);
  args.rows = tile.rows();
  args.weight = matrix_;
  args.c = bindings.tile(spec_.out, tile);
  args.ldc = bindings.stride(spec_.out);
  args.function = spec_.function;
  if (spec_.residual >= 0) {
    args.residual = bindings.tile(spec_.residual, tile);
    args.ldr = bindings.stride(spec_.residual);
  }
  args.first_panel = tile.first_block;
  args.last_panel = tile.last_block;
  gemm(args);
}

void add_product(Lowering& to, int in) {
  ProductStep::Spec spec;
  spec.in = in;
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.norm = fused_norm(to);
  spec.residual = to.unit().residual;
  spec.function = to.unit().swiglu ? Elementwise::kSilu : to.unit().function;
  spec.paired = to.unit().swiglu;
  to.add(std::make_unique<ProductStep>(spec), to.macs());
}

void lower(const LinearOp&, Lowering& to) { add_product(to, to.operand(0)); }

}  // namespace vig
