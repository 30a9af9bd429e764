#include "vig/train/walk.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/train/kernel_ops.h"
#include "vig/train/plain_ops.h"

namespace vig::train {
namespace {

// Norms before a gated mix and the SiLU after it run inside it, and a residual sum runs inside the
// product that makes the branch, unless something else uses them.
struct Folding {
  std::vector<bool> folded;  // by node: computed by its consumer
  std::vector<int> silu;     // by node: the SiLU that a mix takes along, or -1

  Folding(const Graph& graph, bool residuals)
      : folded(graph.nodes.size(), false), silu(graph.nodes.size(), -1) {
    std::vector<int> uses(graph.nodes.size(), 0);
    for (const Node& node : graph.nodes) {
      for (int input : node.inputs) ++uses[input];
    }
    for (const Output& output : graph.outputs) ++uses[output.node];
    for (size_t id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      if (std::holds_alternative<GatedMixOp>(node.op)) {
        const int a = node.inputs[1], b = node.inputs[2];
        if (uses[a] == 1 && uses[b] == 1 && same_norm(graph.nodes[a], graph.nodes[b])) {
          folded[a] = folded[b] = true;
        }
      }
      const auto* act = std::get_if<ActivationOp>(&node.op);
      if (act != nullptr && act->kind == ActKind::kSilu && uses[node.inputs[0]] == 1 &&
          std::holds_alternative<GatedMixOp>(graph.nodes[node.inputs[0]].op)) {
        silu[node.inputs[0]] = static_cast<int>(id);
      }
      const auto* add = std::get_if<AddOp>(&node.op);
      if (residuals && add != nullptr && add->residual && uses[node.inputs[1]] == 1 &&
          std::holds_alternative<LinearOp>(graph.nodes[node.inputs[1]].op)) {
        folded[node.inputs[1]] = true;
      }
    }
  }

  static bool same_norm(const Node& a, const Node& b) {
    const auto* first = std::get_if<RmsNormOp>(&a.op);
    const auto* second = std::get_if<RmsNormOp>(&b.op);
    return first != nullptr && second != nullptr && first->eps == second->eps &&
           first->groups == second->groups;
  }
};

// 1 / (1 - rate) for pictures that keep the branch, 0 for those that do not: [batch, 1, 1, 1].
at::Tensor branch_factors(const WalkOptions& options, int branch, double rate, int64_t batch) {
  at::Tensor factors = at::empty({batch, 1, 1, 1}, at::kFloat);
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t picture = options.first_picture + i * options.picture_stride;
    RandomStream stream = RandomStream(options.seed)
                              .fork("drop path")
                              .fork(static_cast<uint64_t>(picture))
                              .fork(static_cast<uint64_t>(branch));
    factors.data_ptr<float>()[i] =
        stream.chance(rate) ? 0.0f : static_cast<float>(1.0 / (1.0 - rate));
  }
  return factors;
}

template <class Ops>
class Walker {
 public:
  Walker(const Graph& graph, const std::vector<at::Tensor>& params, const WalkOptions& options)
      : graph_(graph), params_(params), options_(options), folding_(graph, options.drop_path == 0) {
    for (const Node& node : graph.nodes) {
      const auto* add = std::get_if<AddOp>(&node.op);
      if (add != nullptr && add->residual) ++branches_;
    }
  }

  std::vector<at::Tensor> run(const at::Tensor& pictures) {
    values_.assign(graph_.nodes.size(), {});
    for (size_t id = 0; id < graph_.nodes.size(); ++id) {
      if (values_[id].defined() || folding_.folded[id]) continue;
      node_ = &graph_.nodes[id];
      at::Tensor value =
          std::visit([&](const auto& op) { return compute(op, pictures); }, node_->op);
      if (folding_.silu[id] >= 0) {
        values_[folding_.silu[id]] = std::move(value);
      } else {
        values_[id] = std::move(value);
      }
    }
    return std::move(values_);
  }

 private:
  const at::Tensor& in(size_t i) const { return values_[node_->inputs[i]]; }
  at::Tensor param(const Node& node, size_t i) const {
    return i < node.params.size() ? params_[node.params[i]] : at::Tensor();
  }
  at::Tensor param(size_t i) const { return param(*node_, i); }

  at::Tensor compute(const InputOp&, const at::Tensor& pictures) { return pictures; }
  at::Tensor compute(const ConvOp& op, const at::Tensor&) {
    return Ops::conv(in(0), param(0), param(1), op);
  }
  at::Tensor compute(const DepthwiseConvOp&, const at::Tensor&) {
    return Ops::depthwise_conv(in(0), param(0));
  }
  at::Tensor compute(const LinearOp&, const at::Tensor&) {
    return Ops::linear(in(0), param(0), param(1));
  }
  at::Tensor compute(const LayerNormOp& op, const at::Tensor&) {
    return Ops::layer_norm(in(0), param(0), param(1), op.eps);
  }
  at::Tensor compute(const RmsNormOp& op, const at::Tensor&) {
    return Ops::rms_norm(in(0), param(0), op.eps, op.groups);
  }
  at::Tensor compute(const ActivationOp& op, const at::Tensor&) {
    return Ops::activation(in(0), op.kind);
  }
  at::Tensor compute(const AddOp& op, const at::Tensor&) {
    if (!op.residual) return in(0) + in(1);
    if (folding_.folded[node_->inputs[1]]) {
      const Node& linear = graph_.nodes[node_->inputs[1]];
      return Ops::linear(values_[linear.inputs[0]], param(linear, 0), param(linear, 1), in(0));
    }
    const int branch = branch_++;
    // Two branches a block.
    const int block = branch / 2, blocks = branches_ / 2;
    const double rate = blocks > 1 ? options_.drop_path * block / (blocks - 1) : 0.0;
    if (rate == 0) return in(0) + in(1);
    const at::Tensor factors =
        branch_factors(options_, branch, rate, in(0).size(0)).to(in(0).device());
    return at::addcmul(in(0), in(1), factors);
  }
  at::Tensor compute(const MulOp&, const at::Tensor&) { return in(0) * in(1); }
  at::Tensor compute(const ScaleOp&, const at::Tensor&) { return Ops::scale(in(0), param(0)); }
  at::Tensor compute(const AddPositionOp& op, const at::Tensor&) {
    return Ops::add_position(in(0), param(0), op.rows, op.cols);
  }
  at::Tensor compute(const SwiGluOp&, const at::Tensor&) { return Ops::swiglu(in(0)); }
  at::Tensor compute(const GatedMixOp&, const at::Tensor&) {
    KernelOps::Mix mix;
    mix.gate = in(0);
    mix.silu = folding_.silu[node_ - graph_.nodes.data()] >= 0;
    if (folding_.folded[node_->inputs[1]]) {
      const Node &a = graph_.nodes[node_->inputs[1]], &b = graph_.nodes[node_->inputs[2]];
      mix.o = values_[a.inputs[0]];
      mix.local = values_[b.inputs[0]];
      mix.o_weight = param(a, 0);
      mix.local_weight = param(b, 0);
      mix.eps = std::get<RmsNormOp>(a.op).eps;
      mix.heads = std::get<RmsNormOp>(a.op).groups;
    } else {
      mix.o = in(1);
      mix.local = in(2);
    }
    return Ops::gated_mix(mix);
  }
  at::Tensor compute(const GlaOp& op, const at::Tensor&) { return Ops::gla(in(0), in(1), op); }
  at::Tensor compute(const MeanPoolOp&, const at::Tensor&) { return in(0).mean({1, 2}, true); }

  const Graph& graph_;
  const std::vector<at::Tensor>& params_;
  const WalkOptions& options_;
  const Folding folding_;
  std::vector<at::Tensor> values_;
  const Node* node_ = nullptr;
  int branch_ = 0;
  int branches_ = 0;
};

}  // namespace

std::vector<at::Tensor> walk(const Graph& graph, const std::vector<at::Tensor>& params,
                             const at::Tensor& pictures, const WalkOptions& options) {
  if (options.kernels && pictures.device().is_cpu()) {
    return Walker<KernelOps>(graph, params, options).run(pictures);
  }
  return Walker<PlainOps>(graph, params, options).run(pictures);
}

at::Tensor walk_logits(const Graph& graph, const std::vector<at::Tensor>& params,
                       const at::Tensor& pictures, const WalkOptions& options) {
  const int node = graph.find_output("logits");
  if (node < 0) fail("[train] the network has no output \"logits\"");
  return walk(graph, params, pictures, options)[node].flatten(1);
}

}  // namespace vig::train
