#include "vig/train/forward.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/graph/fuse.h"
#include "vig/train/kernel_ops.h"
#include "vig/train/plain_ops.h"

namespace vig::train {
namespace {

// 1 / (1 - rate) for pictures that keep the branch, 0 for those that do not: [batch, 1, 1, 1].
at::Tensor branch_factors(const ForwardOptions& options, int branch, double rate, int64_t batch) {
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
class ForwardPass {
 public:
  ForwardPass(const Graph& graph, const std::vector<at::Tensor>& params,
              const ForwardOptions& options)
      : graph_(graph), params_(params), options_(options) {}

  std::vector<at::Tensor> run(const at::Tensor& pictures) {
    values_.assign(graph_.nodes.size(), {});
    for (const FusedNode& unit : fuse(graph_)) {
      unit_ = &unit;
      node_ = &graph_.nodes[unit.node];
      values_[unit.result] =
          std::visit([&](const auto& op) { return compute(op, pictures); }, node_->op);
    }
    return std::move(values_);
  }

 private:
  const at::Tensor& in(size_t i) const { return values_[node_->inputs[i]]; }
  at::Tensor param(const Node& node, size_t i) const {
    return i < node.params.size() ? params_[node.params[i]] : at::Tensor();
  }
  at::Tensor param(size_t i) const { return param(*node_, i); }
  // The node fused before operand i, or null.
  const Node* producer(size_t i) const {
    return unit_->producers[i] < 0 ? nullptr : &graph_.nodes[unit_->producers[i]];
  }

  // x + branch, with stochastic depth.
  at::Tensor sum(const AddOp& op, const at::Tensor& x, const at::Tensor& branch) {
    const int number = op.residual ? branch_++ : 0;
    if (!drops(op)) return x + branch;
    return at::addcmul(x, branch,
                       branch_factors(options_, number, op.drop_rate, x.size(0)).to(x.device()));
  }
  bool drops(const AddOp& op) const { return options_.drop_branches && op.drop_rate > 0; }

  // What is fused behind an operation, in operations of their own.
  at::Tensor finish(at::Tensor value) {
    if (unit_->residual >= 0) {
      const auto& op = std::get<AddOp>(graph_.nodes[unit_->sum].op);
      values_[unit_->node] = value;
      value = sum(op, values_[unit_->residual], value);
    }
    return apply_function(value);
  }
  at::Tensor apply_function(const at::Tensor& value) {
    if (unit_->swiglu) return Ops::swiglu(value);
    return unit_->function == Elementwise::kIdentity ? value
                                                     : Ops::activation(value, unit_->function);
  }

  at::Tensor compute(const InputOp&, const at::Tensor& pictures) { return pictures; }
  at::Tensor compute(const ConvOp& op, const at::Tensor&) {
    return finish(Ops::conv(in(0), param(0), param(1), op));
  }
  at::Tensor compute(const DepthwiseConvOp&, const at::Tensor&) {
    return finish(Ops::depthwise_conv(in(0), param(0)));
  }
  at::Tensor compute(const LinearOp&, const at::Tensor&) {
    // Without stochastic depth the product itself adds the residual.
    if (unit_->residual >= 0 && !options_.drop_branches) {
      const at::Tensor& residual = values_[unit_->residual];
      return apply_function(Ops::linear(in(0), param(0), param(1), residual));
    }
    return finish(Ops::linear(in(0), param(0), param(1)));
  }
  at::Tensor compute(const LayerNormOp& op, const at::Tensor&) {
    return Ops::layer_norm(in(0), param(0), param(1), op.eps);
  }
  at::Tensor compute(const RmsNormOp& op, const at::Tensor&) {
    return Ops::rms_norm(in(0), param(0), op.eps, op.groups);
  }
  at::Tensor compute(const ActivationOp& op, const at::Tensor&) {
    return Ops::activation(in(0), op.function);
  }
  at::Tensor compute(const AddOp& op, const at::Tensor&) { return sum(op, in(0), in(1)); }
  at::Tensor compute(const MulOp&, const at::Tensor&) { return in(0) * in(1); }
  at::Tensor compute(const ScaleOp&, const at::Tensor&) { return Ops::scale(in(0), param(0)); }
  at::Tensor compute(const AddPositionOp& op, const at::Tensor&) {
    return Ops::add_position(in(0), param(0), op.rows, op.cols);
  }
  at::Tensor compute(const SwiGluOp&, const at::Tensor&) { return Ops::swiglu(in(0)); }
  at::Tensor compute(const GatedMixOp&, const at::Tensor&) {
    KernelOps::Mix mix;
    mix.gate = in(0);
    mix.silu = unit_->function == Elementwise::kSilu;
    // An operand with the norm that is fused before it.
    const auto take = [&](size_t i, at::Tensor& value, at::Tensor& weight) {
      const Node* norm = producer(i);
      value = norm == nullptr ? in(i) : values_[norm->inputs[0]];
      if (norm == nullptr) return;
      weight = param(*norm, 0);
      mix.eps = std::get<RmsNormOp>(norm->op).eps;
      mix.heads = std::get<RmsNormOp>(norm->op).groups;
    };
    take(1, mix.o, mix.o_weight);
    take(2, mix.local, mix.local_weight);
    return Ops::gated_mix(mix);
  }
  at::Tensor compute(const GlaOp& op, const at::Tensor&) {
    const Node* product = producer(1);
    const at::Tensor gates =
        product == nullptr
            ? in(1)
            : Ops::linear(values_[product->inputs[0]], param(*product, 0), param(*product, 1));
    return Ops::gla(in(0), gates, op);
  }
  at::Tensor compute(const MeanPoolOp&, const at::Tensor&) { return in(0).mean({1, 2}, true); }

  const Graph& graph_;
  const std::vector<at::Tensor>& params_;
  const ForwardOptions& options_;
  std::vector<at::Tensor> values_;
  const FusedNode* unit_ = nullptr;
  const Node* node_ = nullptr;
  int branch_ = 0;  // residuals so far
};

}  // namespace

std::vector<at::Tensor> forward(const Graph& graph, const std::vector<at::Tensor>& params,
                                const at::Tensor& pictures, const ForwardOptions& options) {
  if (options.kernels && pictures.device().is_cpu()) {
    return ForwardPass<KernelOps>(graph, params, options).run(pictures);
  }
  return ForwardPass<PlainOps>(graph, params, options).run(pictures);
}

at::Tensor forward_logits(const Graph& graph, const std::vector<at::Tensor>& params,
                          const at::Tensor& pictures, const ForwardOptions& options) {
  const int node = graph.find_output("logits");
  if (node < 0) fail("[train] the network has no output \"logits\"");
  return forward(graph, params, pictures, options)[node].flatten(1);
}

}  // namespace vig::train
