#include "vig/runtime/calls/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/int8_product.h"

namespace vig {
namespace {

// Rows and columns of a group's weight: [.., in], or [out, in, 1, 1] of a convolution.
int64_t inputs(const Shape& shape) {
  return shape.rank() == 4 ? shape.elements() / shape[0] : shape[-1];
}
int64_t outputs(const Shape& shape, int groups) {
  return shape.elements() / inputs(shape) / groups;
}

// Of one group, whole cache lines.
size_t group_floats(const Shape& shape, const ProductCall::Spec& spec, DType type) {
  constexpr size_t kLine = 16;
  const int64_t n = outputs(shape, spec.groups), k = inputs(shape);
  const size_t floats = type == DType::kF32
                            ? gemm_packed_floats(n, k, spec.paired)
                            : gemm_packed_half_bytes(n, k, spec.paired) / sizeof(float);
  return (floats + kLine - 1) / kLine * kLine;
}

PanelType panel_type(DType type) {
  return type == DType::kF16    ? PanelType::kF16
         : type == DType::kBF16 ? PanelType::kBF16
                                : PanelType::kF32;
}

}  // namespace

std::vector<int> ProductCall::operands() const {
  if (spec_.residual < 0) return {spec_.in};
  return {spec_.in, spec_.residual};
}

const char* ProductCall::kind() const {
  if (spec_.paired) return "linear + swiglu";
  if (spec_.function == Elementwise::kDecay) return "linear + decay";
  return spec_.residual >= 0 ? "linear + add" : "linear";
}

std::optional<Packing> ProductCall::packing(const std::vector<ParamSpec>& params) const {
  const Shape& shape = params[spec_.weight].shape;
  std::string layout = spec_.paired ? "paired panels" : "panels";
  if (spec_.groups > 1) layout += fmt::format(" of {} ranges", spec_.groups);
  const auto bytes = [&](DType type) {
    return group_floats(shape, spec_, type) * static_cast<size_t>(spec_.groups) * sizeof(float);
  };
  // A folded norm needs floats.
  const bool half = !spec_.norm.exists() && inputs(shape) <= kMostHalfTaps;
  return Packing{spec_.weight, packed_layout(layout, spec_.bias, spec_.norm), bytes(DType::kF32),
                 half ? bytes(DType::kF16) : 0};
}

void ProductCall::pack(const std::vector<ParamSpec>& params, const Weights& weights,
                       void* room) const {
  auto* to = static_cast<float*>(room);
  const auto param = static_cast<size_t>(spec_.weight);
  const Shape& shape = params[param].shape;
  const float* bias = spec_.bias < 0 ? nullptr : weights.data(static_cast<size_t>(spec_.bias));
  const int64_t n = outputs(shape, spec_.groups), k = inputs(shape);
  const TensorView& stored = weights.stored(param);
  const PanelType type = panel_type(stored.dtype);
  if (packing(params)->half_bytes > 0 && type != PanelType::kF32) {
    // Files need not align them.
    std::vector<uint16_t> halves(static_cast<size_t>(shape.elements()));
    std::memcpy(halves.data(), stored.data, stored.bytes());
    for (int64_t group = 0; group < spec_.groups; ++group) {
      gemm_pack_half(halves.data() + group * n * k, bias == nullptr ? nullptr : bias + group * n, n,
                     k, spec_.paired, type, to);
      to += group_floats(shape, spec_, stored.dtype);
    }
    return;
  }
  FoldedWeights folded;
  const Floats floats = weights.floats(param);
  const float* weight = floats.data();
  if (spec_.norm.exists()) {
    folded = fold_norm(spec_.norm, weights, spec_.weight, spec_.bias, shape);
    weight = folded.weight.data();
    bias = folded.bias.data();
  }
  for (int64_t group = 0; group < spec_.groups; ++group) {
    gemm_pack(weight + group * n * k, bias == nullptr ? nullptr : bias + group * n, n, k,
              spec_.paired, to);
    to += group_floats(shape, spec_, DType::kF32);
  }
}

void ProductCall::bind(const Operands& operands) {
  const Shape& shape = operands.shape(spec_.weight);
  const DType type = operands.packed_type(spec_.weight);
  matrix_ = {operands.packed(spec_.weight), outputs(shape, spec_.groups), inputs(shape),
             spec_.paired, panel_type(type)};
  group_floats_ = static_cast<int64_t>(group_floats(shape, spec_, type));
}

int64_t ProductCall::column_blocks() const { return spec_.groups * gemm_panels(matrix_); }

void ProductCall::run(const Bindings& bindings, const Tile& tile) const {
  if (spec_.groups == 1) return run_group(bindings, tile, 0);
  const int64_t panels = gemm_panels(matrix_);
  const int64_t end = tile.last_block < 0 ? column_blocks() : tile.last_block;
  for (int64_t block = tile.first_block; block < end;) {
    const int64_t group = block / panels;
    Tile part = tile;
    part.first_block = block - group * panels;
    part.last_block = std::min(end - group * panels, panels);
    run_group(bindings, part, group);
    block = (group + 1) * panels;
  }
}

void ProductCall::run_group(const Bindings& bindings, const Tile& tile, int64_t group) const {
  const int64_t column = group * matrix_.n;  // of the result
  GemmArgs args;
  args.a = bindings.tile(spec_.in, tile) + spec_.first + group * spec_.stride;
  args.lda = bindings.stride(spec_.in);
  args.rows = tile.rows();
  args.weight = matrix_;
  args.weight.panels += group * group_floats_;
  args.c = bindings.tile(spec_.out, tile) + column;
  args.ldc = bindings.stride(spec_.out);
  args.function = spec_.function;
  if (spec_.residual >= 0) {
    args.residual = bindings.tile(spec_.residual, tile) + column;
    args.ldr = bindings.stride(spec_.residual);
  }
  args.first_panel = tile.first_block;
  args.last_panel = tile.last_block;
  gemm(args);
}

ProductCall::Spec ProductCall::of_linear(const Node& node) {
  Spec spec;
  spec.in = node.inputs[0];
  spec.weight = Lowering::param(node, 0);
  spec.bias = Lowering::param(node, 1);
  if (const auto* op = std::get_if<LinearOp>(&node.op)) {
    spec.groups = op->groups;
    spec.first = op->first;
    spec.stride = op->group_stride;
  }
  return spec;
}

ProductCall::Spec product_spec(const Lowering& to) {
  ProductCall::Spec spec = ProductCall::of_linear(to.node(to.unit().node));
  spec.out = to.result();
  spec.norm = fused_norm(to);
  spec.residual = to.unit().residual;
  spec.function = to.unit().swiglu ? Elementwise::kSilu : to.unit().function;
  spec.paired = to.unit().swiglu;
  return spec;
}

void add_product(Lowering& to) {
  const ProductCall::Spec spec = product_spec(to);
  if (to.int8()) return add_int8_product(to, spec, to.macs());
  to.add(std::make_unique<ProductCall>(spec), to.macs());
}

void lower(const LinearOp&, Lowering& to) { add_product(to); }

}  // namespace vig
