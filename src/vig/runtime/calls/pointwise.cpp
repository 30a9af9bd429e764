#include "vig/runtime/calls/pointwise.h"

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class PointwiseCall final : public KernelCall {
 public:
  struct Spec {
    Pointwise kind;
    int a = -1, out = -1;
    // The second operand is a value, a row of a parameter (one for all), or the second half of a's
    // channels.
    int b = -1;
    int b_param = -1;
    int b_row = 0;
    bool halves = false;
  };
  explicit PointwiseCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override {
    if (spec_.b < 0) return {spec_.a};
    return {spec_.a, spec_.b};
  }
  const char* kind() const override { return "pointwise"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    PointwiseArgs args;
    args.kind = spec_.kind;
    args.a = bindings.rows(spec_.a, tile);
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    args.rows = tile.rows();
    args.channels = bindings.channels(result());
    if (spec_.halves) args.b = {args.a.data + args.channels, args.a.stride};
    if (spec_.b >= 0) args.b = bindings.rows(spec_.b, tile);
    if (spec_.b_param >= 0) {
      args.b = {bindings.weight(spec_.b_param) + spec_.b_row * args.channels, 0};
    }
    pointwise(args);
  }

 private:
  Spec spec_;
};

void add_call(Lowering& to, PointwiseCall::Spec spec) {
  spec.a = to.operand(0);
  spec.out = to.result();
  to.add(std::make_unique<PointwiseCall>(spec));
}

}  // namespace

std::unique_ptr<KernelCall> make_pointwise(Elementwise function, int in, int out) {
  PointwiseCall::Spec spec;
  spec.kind.function = function;
  spec.a = in;
  spec.out = out;
  return std::make_unique<PointwiseCall>(spec);
}

std::unique_ptr<KernelCall> make_sum(int a, int b, int out) {
  PointwiseCall::Spec spec;
  spec.kind = kSum;
  spec.a = a;
  spec.b = b;
  spec.out = out;
  return std::make_unique<PointwiseCall>(spec);
}

void lower(const ActivationOp& op, Lowering& to) {
  to.add(make_pointwise(op.function, to.operand(0), to.result()));
}
void lower(const AddOp&, Lowering& to) { add_call(to, {.kind = kSum, .b = to.operand(1)}); }
void lower(const MulOp&, Lowering& to) { add_call(to, {.kind = kProduct, .b = to.operand(1)}); }
void lower(const ScaleOp&, Lowering& to) {
  add_call(to, {.kind = kProduct, .b_param = to.param(0)});
}
void lower(const AddRowOp& op, Lowering& to) {
  add_call(to, {.kind = kSum, .b_param = to.param(0), .b_row = op.row});
}
void lower(const SwiGluOp&, Lowering& to) { add_call(to, {.kind = kSwiGlu, .halves = true}); }

}  // namespace vig
