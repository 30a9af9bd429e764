// Which operations of a graph are computed together, for whoever executes it. Fusing never changes
// what a value is, only whether it is ever in memory.
#pragma once

#include <vector>

#include "vig/graph/graph.h"

namespace vig {

// One operation with what is fused into it:
//   before it, operands whose only reader it is: the norms of a gated mix, the product that makes
//   the gate of a scan;
//   behind it, what alone reads its value: function(norm(x) + residual), or SwiGLU.
struct FusedNode {
  int node = -1;    // the operation
  int result = -1;  // the node whose value comes out: `node`, or the last one fused behind it
  std::vector<int> producers;  // per operand of `node`: the node fused before it, or -1
  int norm = -1;               // the batch norm of its value
  int residual = -1;           // node whose value is added
  int sum = -1;                // the node that adds it
  Elementwise function = Elementwise::kIdentity;
  bool swiglu = false;  // the result is silu(first half of the channels) * second half
};

// In an order in which each reads only what came before. Outputs of the graph and the nodes of
// `keep` stay values of their own.
std::vector<FusedNode> fuse(const Graph& graph, const std::vector<int>& keep = {});

}  // namespace vig
