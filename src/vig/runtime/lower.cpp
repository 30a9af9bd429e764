#include <algorithm>

#include "vig/graph/fuse.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/program.h"

namespace vig {
namespace {

bool drops_channels(const Node& node) { return std::holds_alternative<DropChannelsOp>(node.op); }

// Dropping channels is for training: what reads such a node reads its operand instead, and the node
// reads nothing unless its own value is wanted.
Graph without_drops(Graph graph, const std::vector<bool>& wanted) {
  for (Node& node : graph.nodes) {
    // Nodes stand behind their operands, so an operand's own is not dropped from any more.
    for (int& input : node.inputs) {
      if (drops_channels(graph.nodes[input])) input = graph.nodes[input].inputs[0];
    }
  }
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (drops_channels(graph.nodes[id]) && !wanted[id]) graph.nodes[id].inputs.clear();
  }
  return graph;
}

void lower_units(const Graph& graph, const std::vector<int>& keep, const Precision& precision,
                 Program& program) {
  Lowering::Shared shared{graph, program, precision};
  for (const FusedNode& unit : fuse(graph, keep)) {
    Lowering to(shared, unit);
    std::visit([&](const auto& op) { lower(op, to); }, graph.node(unit.node).op);
  }
}

}  // namespace

Program lower(const Graph& graph, const std::vector<int>& keep, const Precision& precision) {
  Program program;
  program.wanted.assign(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) program.values.push_back({node.grid});
  for (const Output& input : graph.inputs) {
    program.inputs.push_back(input.node);
    program.wanted[input.node] = true;
  }
  for (const Output& output : graph.outputs) program.wanted[output.node] = true;
  for (int node : keep) program.wanted[node] = true;
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), drops_channels)) {
    lower_units(without_drops(graph, program.wanted), keep, precision, program);
  } else {
    lower_units(graph, keep, precision, program);
  }
  return program;
}

}  // namespace vig
