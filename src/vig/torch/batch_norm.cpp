#include "vig/torch/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace vig::train {
namespace {

at::Tensor apply(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& var,
                 const BatchNormTensors& tensors, float eps) {
  return (x - mean) * ((var + eps).rsqrt() * tensors.weight) + tensors.bias;
}

// Of all graphs, those that share their statistics once.
std::vector<const Node*> batch_norms(std::span<const Graph> graphs) {
  std::vector<const Node*> norms;
  std::set<int> seen;
  for (const Graph& graph : graphs) {
    for (const Node& node : graph.nodes) {
      if (!std::holds_alternative<BatchNormOp>(node.op)) continue;
      if (seen.insert(node.params[2]).second) norms.push_back(&node);
    }
  }
  return norms;
}

}  // namespace

at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps) {
  return apply(x, tensors.running_mean, tensors.running_var, tensors, eps);
}

at::Tensor batch_norm(const at::Tensor& x, const BatchNormTensors& tensors, float eps,
                      BatchStatistics::Groups& groups, int64_t group) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split(group, 0)) {
    const at::Tensor rows = part.reshape({-1, part.size(3)});
    const auto [var, mean] = at::var_mean(rows, {0}, /*correction=*/0, /*keepdim=*/false);
    parts.push_back(apply(part, mean, var, tensors, eps));
    const double count = static_cast<double>(rows.size(0));
    groups.push_back(at::stack({mean, var * (count / std::max(count - 1, 1.0))}).detach());
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

bool has_batch_norms(std::span<const Graph> graphs) { return !batch_norms(graphs).empty(); }

int64_t inseparable_images(std::span<const Graph> graphs, int64_t group) {
  return has_batch_norms(graphs) ? group : 1;
}

int64_t run_begin(int64_t count, int64_t index, int64_t runs, int64_t group) {
  const int64_t groups = (count + group - 1) / group;
  return std::min(count, groups * index / runs * group);
}

std::vector<double> statistic_sums(std::span<const Graph> graphs,
                                   std::span<const BatchStatistics> threads) {
  std::vector<double> sums;
  double count = 0;
  for (const Node* norm : batch_norms(graphs)) {
    const size_t begin = sums.size();
    sums.resize(begin + 2 * static_cast<size_t>(norm->grid.channels));
    count = 0;
    for (const BatchStatistics& thread : threads) {
      const auto found = thread.groups_.find(norm->params[2]);
      if (found == thread.groups_.end()) continue;
      for (const at::Tensor& group : found->second) {
        const at::Tensor host = group.to(at::kCPU).contiguous();
        for (size_t i = begin; i < sums.size(); ++i) sums[i] += host.data_ptr<float>()[i - begin];
        ++count;
      }
    }
  }
  sums.push_back(count);
  return sums;
}

void move_running_statistics(std::span<const Graph> graphs, std::span<const double> sums,
                             Parameters& parameters) {
  const double count = sums.back();
  const bool finite =
      std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
  if (count == 0 || !finite) return;
  const at::NoGradGuard no_grad;
  for (const Node* norm : batch_norms(graphs)) {
    const auto& op = std::get<BatchNormOp>(norm->op);
    for (const size_t statistic : {size_t{2}, size_t{3}}) {
      const auto channels = static_cast<size_t>(norm->grid.channels);
      at::Tensor mean = at::empty({norm->grid.channels}, at::kFloat);
      for (size_t c = 0; c < channels; ++c) {
        mean.data_ptr<float>()[c] = static_cast<float>(sums[c] / count);
      }
      sums = sums.subspan(channels);
      at::Tensor running = parameters[static_cast<size_t>(norm->params[statistic])];
      running.lerp_(mean.to(running.device()), op.momentum);
    }
  }
}

}  // namespace vig::train
