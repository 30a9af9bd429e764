// A linear layer over the tokens: y = W x + b, W [T, T], x [T, channels], a number of b per token.
//
// The weights are the rows of the product and x its columns, packed at run time: [b | W] times x
// below a row of ones, so that every sum begins with its bias. A task is a block of channels.
#include <algorithm>

#include "vig/kernels/gemm.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

constexpr int64_t kTaskColumns = 64;  // channels of a task: whole panels of any instruction set

class TokenLinearCall final : public ImageCall {
 public:
  struct Spec {
    int in = -1, out = -1;
    int weight = -1, bias = -1;  // parameter indices
    Grid grid;
  };
  explicit TokenLinearCall(const Spec& spec)
      : ImageCall(spec.out), spec_(spec), tokens_(spec.grid.positions()) {}

  std::vector<int> operands() const override { return {spec_.in}; }
  const char* kind() const override { return "token linear"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>&) const override {
    return Packing{spec_.weight, "rows behind their bias",
                   static_cast<size_t>(tokens_ * (tokens_ + 1)) * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>&, const Weights& weights, void* room) const override {
    auto* to = static_cast<float*>(room);
    const Floats floats = weights.floats(static_cast<size_t>(spec_.weight));
    const float* from = floats.data();
    const float* bias = weights.data(static_cast<size_t>(spec_.bias));
    for (int64_t t = 0; t < tokens_; ++t, from += tokens_) {
      *to++ = bias[t];
      to = std::copy_n(from, tokens_, to);
    }
  }

  int64_t task_bytes() const override { return (copy_floats() + panel_floats()) * kFloatBytes; }
  int64_t tasks(const Bindings&, int images) const override { return images * blocks(); }
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t column = task % blocks() * kTaskColumns, row = task / blocks() * tokens_;
    const int64_t width = std::min<int64_t>(kTaskColumns, spec_.grid.channels - column);
    std::fill_n(scratch, width, 1.0f);
    for (int64_t t = 0; t < tokens_; ++t) {
      std::copy_n(bindings.row(spec_.in, row + t) + column, width, scratch + (t + 1) * width);
    }
    GemmArgs args;
    args.a = bindings.packed(spec_.weight);
    args.lda = tokens_ + 1;
    args.rows = tokens_;
    args.weight = gemm_pack_transposed(scratch, width, tokens_ + 1, scratch + copy_floats());
    args.c = bindings.row(result(), row) + column;
    args.ldc = bindings.stride(result());
    gemm(args);
  }

 private:
  int64_t blocks() const { return (spec_.grid.channels + kTaskColumns - 1) / kTaskColumns; }
  int64_t copy_floats() const { return kTaskColumns * (tokens_ + 1); }
  int64_t panel_floats() const {
    return static_cast<int64_t>(gemm_packed_floats(kTaskColumns, tokens_ + 1, false));
  }

  Spec spec_;
  int64_t tokens_;
};

}  // namespace

void lower(const TokenLinearOp&, Lowering& to) {
  TokenLinearCall::Spec spec;
  spec.in = to.operand(0);
  spec.out = to.result();
  spec.weight = to.param(0);
  spec.bias = to.param(1);
  spec.grid = to.grid(to.result());
  to.add(std::make_unique<TokenLinearCall>(spec), to.macs());
}

}  // namespace vig
