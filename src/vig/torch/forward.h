// Executes a graph with LibTorch, so that it can be differentiated: the counterpart of runtime/.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "vig/base/deal.h"
#include "vig/graph/graph.h"
#include "vig/torch/batch_norm.h"

namespace vig::train {

struct ForwardOptions {
  // Our kernels, or LibTorch's own operations with the scan as its expansion. Other devices than
  // the CPU have only LibTorch's.
  bool kernels = true;
  // Stochastic depth: a residual's branch is left out with the probability that the graph gives it.
  // Draws belong to (seed, image).
  bool drop_branches = false;
  uint64_t seed = 0;
  int64_t first_image = 0;  // of the batch, among those of the step that this process has
  Deal deal = {};           // which those are
  // The number of an image of the batch among all of the step's.
  int64_t image(int64_t index) const { return deal.position(first_image + index); }
  // Batch norms normalise by the statistics of the images and add them here; by the running
  // statistics where this is null.
  BatchStatistics* statistics = nullptr;
};

// Every node's value [batch, height, width, channels], given a tensor for each input of the graph
// [batch, height, width, channels] and the parameters, both in the graph's order. Values fused into
// another operation are undefined.
std::vector<at::Tensor> forward(const Graph& graph, const std::vector<at::Tensor>& params,
                                const std::vector<at::Tensor>& inputs,
                                const ForwardOptions& options);

// The output "logits", [batch, classes], of a graph whose only input is the images.
at::Tensor forward_logits(const Graph& graph, const std::vector<at::Tensor>& params,
                          const at::Tensor& images, const ForwardOptions& options);

}  // namespace vig::train
