// From operations of the graph to calls. Each file of this folder defines `lower` for the
// operations that become its calls; the list is calls.h.
#pragma once

#include <memory>
#include <utility>

#include "vig/graph/fuse.h"
#include "vig/runtime/program.h"

namespace vig {

// The program under construction, and the operation that is being lowered.
class Lowering {
 public:
  Lowering(const Graph& graph, Program& program, const FusedNode& unit)
      : graph_(graph), program_(program), unit_(unit) {}

  const FusedNode& unit() const { return unit_; }
  int result() const { return unit_.result; }
  const Node& node(int id) const { return graph_.node(id); }
  int operand(size_t i) const { return node(unit_.node).inputs[i]; }
  // The node fused before operand i, or null.
  const Node* producer(size_t i) const {
    return unit_.producers[i] < 0 ? nullptr : &node(unit_.producers[i]);
  }
  // Parameter i of a node, -1 if it has fewer.
  static int param(const Node& node, size_t i) {
    return i < node.params.size() ? node.params[i] : -1;
  }
  int param(size_t i) const { return param(node(unit_.node), i); }
  const Grid& grid(int value) const { return program_.values[value].grid; }
  // Whether a value must be readable after the run.
  bool wanted(int value) const { return program_.wanted[value]; }
  MacCount macs() const { return count_macs(graph_, node(unit_.node)); }
  MacCount macs(const Node& node) const { return count_macs(graph_, node); }

  // A value that is no node of the graph.
  int fresh(const Grid& grid) {
    program_.values.push_back({grid});
    program_.wanted.push_back(false);
    return static_cast<int>(program_.values.size()) - 1;
  }

  void add(std::unique_ptr<KernelCall> call, MacCount macs = {}) {
    call->macs = macs;
    program_.calls.push_back(std::move(call));
  }

 private:
  const Graph& graph_;
  Program& program_;
  const FusedNode& unit_;
};

}  // namespace vig
