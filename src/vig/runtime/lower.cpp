#include "vig/graph/fuse.h"
#include "vig/runtime/program.h"
#include "vig/runtime/steps/steps.h"

namespace vig {

Program lower(const Graph& graph, const std::vector<int>& keep) {
  Program program;
  program.wanted.assign(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) program.values.push_back(node.grid);
  for (const Output& input : graph.inputs) {
    program.inputs.push_back(input.node);
    program.wanted[input.node] = true;
  }
  for (const Output& output : graph.outputs) program.wanted[output.node] = true;
  for (int node : keep) program.wanted[node] = true;
  for (const FusedNode& unit : fuse(graph, keep)) {
    Lowering to(graph, program, unit);
    std::visit([&](const auto& op) { lower(op, to); }, graph.node(unit.node).op);
  }
  return program;
}

}  // namespace vig
