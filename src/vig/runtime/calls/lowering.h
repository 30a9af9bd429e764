// From operations of the graph to calls. Each file of this folder defines `lower` for the
// operations that become its calls; the list is calls.h.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "vig/graph/fuse.h"
#include "vig/runtime/precision.h"
#include "vig/runtime/program.h"

namespace vig {

// The program under construction, and the operation that is being lowered.
class Lowering {
 public:
  // What the operations of one program share while they are lowered.
  struct Shared {
    const Graph& graph;
    Program& program;
    const Precision& precision;
    std::map<std::tuple<int, int, int64_t>, int> codes = {};  // see codes_of
  };
  Lowering(Shared& shared, const FusedNode& unit)
      : graph_(shared.graph), program_(shared.program), unit_(unit), shared_(shared) {}

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
  const Shape& param_shape(int param) const { return graph_.params[param].shape; }
  const Grid& grid(int value) const { return program_.values[value].grid; }
  // Whether a value must be readable after the run.
  bool wanted(int value) const { return program_.wanted[value]; }
  MacCount macs() const { return count_macs(graph_, node(unit_.node)); }
  MacCount macs(const Node& node) const { return count_macs(graph_, node); }

  bool int8(const Node& node) const { return uses_int8(shared_.precision, graph_, node); }
  bool int8() const { return int8(node(unit_.node)); }
  // `count` channels of a value's rows, from `first` on, quantised; -1 for as long as there are
  // none.
  int& codes_of(int value, int first, int64_t count) {
    return shared_.codes.try_emplace({value, first, count}, -1).first->second;
  }

  // A value that is no node of the graph.
  int fresh(const Grid& grid, DType type = DType::kF32) {
    program_.values.push_back({grid, type});
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
  Shared& shared_;
};

}  // namespace vig
