#include "vig/train/batch_norm.h"

#include <algorithm>

namespace vig::train {
namespace {

at::Tensor apply(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& var,
                 const BatchNormTensors& tensors, float eps) {
  return (x - mean) * ((var + eps).rsqrt() * tensors.weight) + tensors.bias;
}

}  // namespace

at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps) {
  return apply(x, tensors.running_mean, tensors.running_var, tensors, eps);
}

at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps,
                      BatchStatistics::Groups& groups) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split(BatchStatistics::kGroup, 0)) {
    const at::Tensor rows = part.reshape({-1, part.size(3)});
    const auto [var, mean] = at::var_mean(rows, {0}, /*correction=*/0, /*keepdim=*/false);
    parts.push_back(apply(part, mean, var, tensors, eps));
    const double count = static_cast<double>(rows.size(0));
    groups.push_back(at::stack({mean, var * (count / std::max(count - 1, 1.0))}).detach());
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

bool has_batch_norm(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return std::holds_alternative<BatchNormOp>(node.op); });
}

void move_running_statistics(const Graph& graph, std::span<const BatchStatistics> threads,
                             Parameters& parameters) {
  const at::NoGradGuard no_grad;
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<BatchNormOp>(&node.op);
    if (op == nullptr) continue;
    BatchStatistics::Groups all;
    for (const BatchStatistics& thread : threads) {
      const auto found = thread.groups_.find(node.params[2]);
      if (found != thread.groups_.end()) {
        all.insert(all.end(), found->second.begin(), found->second.end());
      }
    }
    if (all.empty()) continue;
    const at::Tensor mean = at::stack(all).mean(0);
    for (const int64_t statistic : {0, 1}) {
      at::Tensor running = parameters[static_cast<size_t>(node.params[2 + statistic])];
      running.lerp_(mean[statistic], op->momentum);
    }
  }
}

}  // namespace vig::train
