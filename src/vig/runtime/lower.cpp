// Graph to Program: one step per node, then neighbours are joined where the kernels can do both in
// one pass. Joining never changes what a value is, only whether it is ever in memory.
#include <algorithm>

#include "vig/base/error.h"
#include "vig/runtime/program.h"

namespace vig {
namespace {

Pointwise pointwise_of(ActKind kind) {
  switch (kind) {
    case ActKind::kSilu:
      return Pointwise::kSilu;
    case ActKind::kGelu:
      return Pointwise::kGelu;
    case ActKind::kSigmoid:
      return Pointwise::kSigmoid;
  }
  return Pointwise::kSilu;
}

class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<int>& keep) : graph_(graph) {
    program_.wanted.assign(graph.nodes.size(), false);
    for (const Node& node : graph.nodes) program_.values.push_back(node.grid);
    for (const Output& output : graph.outputs) program_.wanted[output.node] = true;
    for (int node : keep) program_.wanted[node] = true;
    for (size_t i = 0; i < graph.nodes.size(); ++i) add_node(static_cast<int>(i));
    join();
  }

  Program take() { return std::move(program_); }

 private:
  void add(LowOp op, MacCount macs = {}) { program_.steps.push_back({std::move(op), macs}); }

  int fresh(Grid grid) {
    program_.values.push_back(grid);
    program_.wanted.push_back(false);
    return static_cast<int>(program_.values.size()) - 1;
  }

  void add_node(int id) {
    const Node& node = graph_.node(id);
    const auto in = [&](int i) { return node.inputs[i]; };
    const auto param = [&](size_t i) { return i < node.params.size() ? node.params[i] : -1; };
    const MacCount macs = count_macs(graph_, node);
    std::visit(Overloaded{
                   [&](const InputOp&) {},
                   [&](const ConvOp& op) {
                     Grid patch = node.grid;
                     patch.channels = graph_.node(in(0)).grid.channels * op.kernel * op.kernel;
                     const int patches = fresh(patch);
                     add(PatchStep{in(0), patches, op});
                     add(GemmStep{patches, id, -1, param(0)}, macs);
                   },
                   [&](const DepthwiseConvOp& op) {
                     add(DepthwiseStep{in(0), id, param(0), op.kernel}, macs);
                   },
                   [&](const LinearOp&) {
                     add(GemmStep{in(0), id, -1, param(0)}, macs);
                   },
                   [&](const LayerNormOp& op) {
                     add(NormStep{in(0), id, param(0), param(1), op.eps, 1});
                   },
                   [&](const RmsNormOp& op) {
                     add(NormStep{in(0), id, param(0), -1, op.eps, op.groups});
                   },
                   [&](const ActivationOp& op) {
                     add(PointwiseStep{pointwise_of(op.kind), in(0), -1, id});
                   },
                   [&](const AddOp&) {
                     add(PointwiseStep{Pointwise::kAdd, in(0), in(1), id});
                   },
                   [&](const MulOp&) {
                     add(PointwiseStep{Pointwise::kMul, in(0), in(1), id});
                   },
                   [&](const ScaleOp&) {
                     add(PointwiseStep{Pointwise::kMul, in(0), -1, id, false, param(0)});
                   },
                   [&](const AddPositionOp&) {
                     add(PointwiseStep{Pointwise::kAdd, in(0), -1, id, false, param(0), true});
                   },
                   [&](const SwiGluOp&) {
                     add(PointwiseStep{Pointwise::kSwiGlu, in(0), -1, id, true});
                   },
                   [&](const GatedMixOp&) {
                     add(MixStep{in(0), in(1), in(2), id});
                   },
                   [&](const GlaOp& op) {
                     const int alpha = fresh(graph_.node(in(1)).grid);
                     add(PointwiseStep{Pointwise::kDecay, in(1), -1, alpha});
                     add(GlaStep{in(0), alpha, id, op}, macs);
                   },
                   [&](const MeanPoolOp&) {
                     add(PoolStep{in(0), id});
                   },
               },
               node.op);
  }

  // ---- joining ----

  int uses(int value) const {
    int count = program_.wanted[value] ? 1 : 0;
    for (const LowStep& step : program_.steps) {
      const std::vector<int> operands = operands_of(step.op);
      count += static_cast<int>(std::count(operands.begin(), operands.end(), value));
    }
    return count;
  }

  // The step that makes `value`, if it is of this type and nobody else reads the value.
  template <class Step>
  int only_maker(int value) const {
    if (value < 0 || uses(value) != 1) return -1;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      if (result_of(program_.steps[i].op) == value) {
        return std::holds_alternative<Step>(program_.steps[i].op) ? static_cast<int>(i) : -1;
      }
    }
    return -1;
  }

  template <class Step>
  Step& step_at(int index) {
    return std::get<Step>(program_.steps[index].op);
  }

  // Removes step `index` after `into` has taken over its work.
  void absorb(int into, int index) {
    program_.steps[into].macs += program_.steps[index].macs;
    program_.steps.erase(program_.steps.begin() + index);
  }

  void join() {
    for (size_t i = 0; i < program_.steps.size();) {
      const LowOp op = program_.steps[i].op;
      // What swallows number i stands before it, so i is the next one already.
      if (const auto* step = std::get_if<PointwiseStep>(&op); step && join_pointwise(i, *step)) {
        continue;
      }
      if (const auto* step = std::get_if<MixStep>(&op)) i = join_mix(i, *step);
      ++i;
    }
  }

  bool join_pointwise(size_t index, PointwiseStep step) {
    const int self = static_cast<int>(index);
    if (step.kind == Pointwise::kAdd && step.b >= 0) return join_residual(self, step);
    if (step.b >= 0 || step.b_param >= 0) return false;
    if (const int maker = only_maker<GemmStep>(step.a); maker >= 0) {
      GemmStep& gemm = step_at<GemmStep>(maker);
      if (gemm.epilogue != Epilogue::kNone) return false;
      switch (step.kind) {
        case Pointwise::kSilu:
          gemm.epilogue = Epilogue::kSilu;
          break;
        case Pointwise::kGelu:
          gemm.epilogue = Epilogue::kGelu;
          break;
        case Pointwise::kSigmoid:
          gemm.epilogue = Epilogue::kSigmoid;
          break;
        case Pointwise::kDecay:
          gemm.epilogue = Epilogue::kDecay;
          break;
        case Pointwise::kSwiGlu:
          gemm.epilogue = Epilogue::kSwiGlu;
          program_.paired_params.push_back(gemm.weight);
          break;
        case Pointwise::kAdd:
        case Pointwise::kMul:
          return false;
      }
      gemm.out = step.out;
      absorb(maker, self);
      return true;
    }
    if (step.kind != Pointwise::kSilu) return false;
    if (const int maker = only_maker<DepthwiseStep>(step.a); maker >= 0) {
      step_at<DepthwiseStep>(maker).silu = true;
      step_at<DepthwiseStep>(maker).out = step.out;
      absorb(maker, self);
      return true;
    }
    if (const int maker = only_maker<MixStep>(step.a); maker >= 0) {
      step_at<MixStep>(maker).silu = true;
      step_at<MixStep>(maker).out = step.out;
      absorb(maker, self);
      return true;
    }
    return false;
  }

  // x + linear(y): the product adds x as it stores. x must exist before the product runs.
  bool join_residual(int self, const PointwiseStep& step) {
    for (const auto& [product, other] : {std::pair(step.b, step.a), std::pair(step.a, step.b)}) {
      const int maker = only_maker<GemmStep>(product);
      if (maker < 0 || step_at<GemmStep>(maker).epilogue != Epilogue::kNone) continue;
      bool ready = true;
      for (size_t i = maker; i < program_.steps.size(); ++i) {
        ready = ready && result_of(program_.steps[i].op) != other;
      }
      if (!ready) continue;
      GemmStep& gemm = step_at<GemmStep>(maker);
      gemm.epilogue = Epilogue::kAdd;
      gemm.residual = other;
      gemm.out = step.out;
      absorb(maker, self);
      return true;
    }
    return false;
  }

  // The head norms of both operands, if the mix is all they are for. Returns where the mix stands.
  size_t join_mix(size_t index, MixStep step) {
    const auto take = [&](int& operand, int& weight) {
      const int maker = only_maker<NormStep>(operand);
      if (maker < 0) return;
      const NormStep norm = step_at<NormStep>(maker);
      if (norm.bias >= 0 || norm.groups < 2) return;
      const bool first = step.o_weight < 0 && step.local_weight < 0;
      if (!first && (norm.groups != step.heads || norm.eps != step.eps)) return;
      step.heads = norm.groups;
      step.eps = norm.eps;
      operand = norm.in;
      weight = norm.weight;
      program_.steps.erase(program_.steps.begin() + maker);
      --index;
      program_.steps[index].op = step;
    };
    take(step.o, step.o_weight);
    take(step.local, step.local_weight);
    return index;
  }

  const Graph& graph_;
  Program program_;
};

}  // namespace

Program lower(const Graph& graph, const std::vector<int>& keep) {
  return Lowering(graph, keep).take();
}

int result_of(const LowOp& op) {
  return std::visit([](const auto& step) { return step.out; }, op);
}

std::vector<int> operands_of(const LowOp& op) {
  std::vector<int> operands =
      std::visit(Overloaded{
                     [](const GemmStep& s) {
                       return std::vector<int>{s.in, s.residual};
                     },
                     [](const NormStep& s) { return std::vector<int>{s.in}; },
                     [](const PointwiseStep& s) {
                       return std::vector<int>{s.a, s.b};
                     },
                     [](const MixStep& s) {
                       return std::vector<int>{s.gate, s.o, s.local};
                     },
                     [](const PatchStep& s) { return std::vector<int>{s.in}; },
                     [](const DepthwiseStep& s) { return std::vector<int>{s.in}; },
                     [](const GlaStep& s) {
                       return std::vector<int>{s.qkv, s.alpha};
                     },
                     [](const PoolStep& s) { return std::vector<int>{s.in}; },
                 },
                 op);
  std::erase(operands, -1);
  return operands;
}

std::vector<int> gathered_by(const LowOp& op) {
  const bool row_wise =
      std::holds_alternative<GemmStep>(op) || std::holds_alternative<NormStep>(op) ||
      std::holds_alternative<PointwiseStep>(op) || std::holds_alternative<MixStep>(op);
  return row_wise ? std::vector<int>{} : operands_of(op);
}

bool is_global(const LowOp& op) {
  return std::holds_alternative<GlaStep>(op) || std::holds_alternative<PoolStep>(op);
}

const char* kind_of(const LowOp& op) {
  return std::visit(Overloaded{
                        [](const GemmStep& s) {
                          switch (s.epilogue) {
                            case Epilogue::kSwiGlu:
                              return "linear + swiglu";
                            case Epilogue::kDecay:
                              return "linear + decay";
                            case Epilogue::kAdd:
                              return "linear + add";
                            case Epilogue::kNone:
                            case Epilogue::kSilu:
                            case Epilogue::kGelu:
                            case Epilogue::kSigmoid:
                              break;
                          }
                          return "linear";
                        },
                        [](const NormStep&) { return "norm"; },
                        [](const PointwiseStep&) { return "pointwise"; },
                        [](const MixStep&) { return "gated mix"; },
                        [](const PatchStep&) { return "patches"; },
                        [](const DepthwiseStep&) { return "depthwise conv"; },
                        [](const GlaStep&) { return "scan"; },
                        [](const PoolStep&) { return "pool"; },
                    },
                    op);
}

}  // namespace vig
