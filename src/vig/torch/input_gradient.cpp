#include "vig/torch/input_gradient.h"

#include "vig/base/error.h"
#include "vig/torch/forward.h"

namespace vig::train {

at::Tensor input_gradient(const Graph& graph, const std::vector<at::Tensor>& params,
                          const at::Tensor& images, bool kernels) {
  const int node = graph.find_output("features");
  if (node < 0) fail("[train] the network has no output \"features\"");
  std::vector<at::Tensor> constants;
  for (const at::Tensor& param : params) constants.push_back(param.detach());
  const at::Tensor leaf = images.detach().clone().set_requires_grad(true);
  ForwardOptions options;
  options.kernels = kernels;
  const at::Tensor features = forward(graph, constants, {leaf}, options)[node];
  const Grid& grid = graph.node(node).grid;
  features.select(1, grid.height / 2).select(1, grid.width / 2).clamp_min(0).sum().backward();
  // An image that the centre does not depend on at all.
  return leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf);
}

}  // namespace vig::train
