// Which operations of a graph are computed together, for all executors. A fused value is
// never in memory; the values that remain keep their bits. Folding a batch norm into weights is the
// exception: it rounds the weights, so its result differs from the norm's own in the last bits.
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
