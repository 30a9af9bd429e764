#include "vig/runtime/calls/int8_product.h"

#include <algorithm>

#include "vig/kernels/gemm_int8.h"
#include "vig/kernels/quantize.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/windows.h"
#include "vig/runtime/int8_weights.h"

namespace vig {
namespace {

int64_t columns_out(const Shape& shape) { return output_channels(shape); }
int64_t rows_in(const Shape& shape) { return shape.elements() / columns_out(shape); }

// `k` channels of a value's rows, from `first` on, as codes with a scale each.
class QuantizeCall final : public KernelCall {
 public:
  QuantizeCall(int in, int first, int64_t k, int out)
      : KernelCall(out), in_(in), first_(first), k_(k) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "quantise"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    quantize_rows({bindings.tile(in_, tile) + first_, bindings.stride(in_), tile.rows(), k_,
                   bindings.tile<uint8_t>(result(), tile), bindings.stride(result())});
  }

 private:
  int in_, first_;
  int64_t k_;
};

// What the windows of a convolution see, as rows of codes.
class QuantizeWindowsCall final : public KernelCall {
 public:
  QuantizeWindowsCall(int in, int out, const Grid& grid, const Windows& windows)
      : KernelCall(out),
        in_(in),
        grid_{grid.height, grid.width, grid.channels},
        windows_(windows) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  std::optional<RowRange> needed_rows(const Operands& operands, int,
                                      const RowRange& rows) const override {
    return seen_rows(windows_, operands.grid(in_), rows);
  }
  const char* kind() const override { return "quantise"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    quantize_windows({bindings.row(in_, 0), grid_, windows_, tile.first, tile.last,
                      bindings.tile<uint8_t>(result(), tile), bindings.stride(result())});
  }

 private:
  int in_;
  ConvGrid grid_;
  Windows windows_;
};

// [out, in, area] to [out, area, in]: channels last, as in grids.
std::vector<int8_t> channels_last(const std::vector<int8_t>& codes, int64_t out, int64_t area) {
  const int64_t in = static_cast<int64_t>(codes.size()) / out / area;
  std::vector<int8_t> ordered(codes.size());
  const int8_t* from = codes.data();
  for (int64_t o = 0; o < out; ++o) {
    int8_t* to = ordered.data() + o * area * in;
    for (int64_t c = 0; c < in; ++c) {
      for (int64_t i = 0; i < area; ++i) to[i * in + c] = *from++;
    }
  }
  return ordered;
}

class Int8ProductCall final : public KernelCall {
 public:
  // `area`: of the kernel, whose weights are [out, in, area].
  Int8ProductCall(const ProductCall::Spec& spec, int codes, int64_t area)
      : KernelCall(spec.out), spec_(spec), codes_(codes), area_(area) {}

  std::vector<int> operands() const override {
    if (spec_.residual < 0) return {codes_};
    return {codes_, spec_.residual};
  }
  const char* kind() const override {
    if (area_ > 1) return spec_.residual >= 0 ? "int8 conv + add" : "int8 conv";
    if (spec_.paired) return "int8 linear + swiglu";
    return spec_.residual >= 0 ? "int8 linear + add" : "int8 linear";
  }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    const Shape& shape = params[spec_.weight].shape;
    const char* layout = spec_.paired ? "paired int8 panels" : "int8 panels";
    return Packing{spec_.weight, packed_layout(layout, spec_.bias, spec_.norm),
                   gemm_int8_packed_bytes(columns_out(shape), rows_in(shape), spec_.paired)};
  }
  // The weights are quantised as they are published; a batch norm goes into scales and bias. So
  // codes stored in a file are the same.
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    const Shape& shape = params[spec_.weight].shape;
    const int64_t n = columns_out(shape), k = rows_in(shape);
    auto [codes, scales] = int8_weights(weights, static_cast<size_t>(spec_.weight));
    const std::vector<float> bias = fold_into_scales(spec_.norm, weights, spec_.bias, scales);
    if (area_ > 1) codes = channels_last(codes, n, area_);
    gemm_int8_pack(codes.data(), scales.data(), bias.data(), n, k, spec_.paired,
                   static_cast<std::byte*>(room));
  }

  void bind(const Operands& operands) override {
    const Shape& shape = operands.shape(spec_.weight);
    matrix_ = {operands.packed<std::byte>(spec_.weight), columns_out(shape), rows_in(shape),
               spec_.paired};
  }
  bool has_columns() const override { return true; }
  int64_t column_blocks() const override { return gemm_int8_panels(matrix_); }

  void run(const Bindings& bindings, const Tile& tile) const override {
    Int8GemmArgs args;
    args.a = bindings.tile<uint8_t>(codes_, tile);
    args.lda = bindings.stride(codes_);
    args.rows = tile.rows();
    args.weight = matrix_;
    args.c = bindings.tile(result(), tile);
    args.ldc = bindings.stride(result());
    args.function = spec_.function;
    if (spec_.residual >= 0) {
      args.residual = bindings.tile(spec_.residual, tile);
      args.ldr = bindings.stride(spec_.residual);
    }
    args.first_panel = tile.first_block;
    args.last_panel = tile.last_block;
    gemm_int8(args);
  }

 private:
  ProductCall::Spec spec_;
  int codes_;  // the quantised operand
  int64_t area_;
  Int8Matrix matrix_;
};

Grid code_grid(const Grid& rows, int64_t k) {
  return {rows.height, rows.width, static_cast<int>(quantized_row_bytes(k))};
}

}  // namespace

void add_int8_product(Lowering& to, const ProductCall::Spec& spec, MacCount macs) {
  const int64_t k = rows_in(to.param_shape(spec.weight));
  int& codes = to.codes_of(spec.in, spec.first, k);
  if (codes < 0) {
    codes = to.fresh(code_grid(to.grid(spec.in), k), DType::kU8);
    to.add(std::make_unique<QuantizeCall>(spec.in, spec.first, k, codes));
  }
  to.add(std::make_unique<Int8ProductCall>(spec, codes, 1), macs);
}

void add_int8_conv(Lowering& to, const ProductCall::Spec& spec, const ConvOp& op) {
  const Grid in = to.grid(spec.in), out = to.grid(spec.out);
  const int64_t area = int64_t{op.kernel} * op.kernel;
  const int codes = to.fresh(code_grid(out, area * in.channels), DType::kU8);
  to.add(std::make_unique<QuantizeWindowsCall>(spec.in, codes, in, windows_of(op, in, out)));
  to.add(std::make_unique<Int8ProductCall>(spec, codes, area), to.macs());
}

}  // namespace vig
