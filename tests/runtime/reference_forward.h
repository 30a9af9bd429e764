// A graph executed the plainest way: one image, one node after the other, every value kept, on
// the kernels' reference implementations. Shares neither lowering nor plan nor packed weights with
// the runtime.
#pragma once

#include <vector>

#include "vig/graph/graph.h"
#include "vig/runtime/precision.h"
#include "vig/weights/load.h"

namespace vig::test {

// The value of every node, [height, width, channels] each, given all inputs of the graph one after
// the other.
std::vector<std::vector<float>> reference_forward(const Graph& graph, const Weights& weights,
                                                  const std::vector<float>& inputs,
                                                  const Precision& precision = {});

// The value of one node, given those of all nodes before it.
std::vector<float> reference_value(const Graph& graph, const Weights& weights, int node,
                                   std::vector<std::vector<float>> values,
                                   const Precision& precision = {});

}  // namespace vig::test
