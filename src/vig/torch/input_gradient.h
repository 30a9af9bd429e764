// How much each pixel of an image contributes to one position of a network's last feature map.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "vig/graph/graph.h"

namespace vig::train {

// The derivative of the centre of the output "features" by the input, [batch, height, width, 3]:
//   d (sum over c of max(0, features[height / 2, width / 2, c])) / d image.
// Only positive channels count, as in RepLKNet's definition: behind a layer norm with fresh weights
// the sum over all channels is 0 for any image, and its gradient nothing but rounding.
// Batch norms use their running statistics, and no branch is dropped. The parameters are in the
// order of the graph and receive no gradient; `images` is [batch, height, width, 3]. Images do
// not influence each other. Throws Error where the graph has no such output.
at::Tensor input_gradient(const Graph& graph, const std::vector<at::Tensor>& params,
                          const at::Tensor& images, bool kernels = true);

}  // namespace vig::train
