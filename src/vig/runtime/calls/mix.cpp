// The end of ViG's mixer: two operands, each with its head norm, mixed by a gate.
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

class MixCall final : public KernelCall {
 public:
  struct Spec {
    int gate = -1, o = -1, local = -1, out = -1;
    int o_weight = -1, local_weight = -1;  // parameter indices; -1: not normalised here
    float eps = 0.0f;
    int heads = 1;
    bool silu = false;
  };
  explicit MixCall(const Spec& spec) : KernelCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override { return {spec_.gate, spec_.o, spec_.local}; }
  const char* kind() const override { return "gated mix"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    GatedMixArgs args;
    args.gate = bindings.rows(spec_.gate, tile);
    args.o = bindings.rows(spec_.o, tile);
    args.local = bindings.rows(spec_.local, tile);
    if (spec_.o_weight >= 0) args.o_weight = bindings.weight(spec_.o_weight);
    if (spec_.local_weight >= 0) args.local_weight = bindings.weight(spec_.local_weight);
    args.eps = spec_.eps;
    args.heads = spec_.heads;
    args.silu = spec_.silu;
    args.out = bindings.tile(result(), tile);
    args.out_stride = bindings.stride(result());
    args.rows = tile.rows();
    args.channels = bindings.channels(result());
    gated_mix(args);
  }

 private:
  Spec spec_;
};

}  // namespace

void lower(const GatedMixOp&, Lowering& to) {
  MixCall::Spec spec;
  spec.gate = to.operand(0);
  spec.out = to.result();
  spec.silu = to.unit().function == Elementwise::kSilu;
  // An operand with the norm that is fused before it.
  const auto take = [&](size_t i, int& value, int& weight) {
    value = to.operand(i);
    const Node* norm = to.producer(i);
    if (norm == nullptr) return;
    const auto& op = std::get<RmsNormOp>(norm->op);
    value = norm->inputs[0];
    weight = Lowering::param(*norm, 0);
    spec.eps = op.eps;
    spec.heads = op.groups;
  };
  take(1, spec.o, spec.o_weight);
  take(2, spec.local, spec.local_weight);
  to.add(std::make_unique<MixCall>(spec));
}

}  // namespace vig
