#include "vig/graph/fuse.h"

#include <algorithm>
#include <utility>

namespace vig {
namespace {

bool is_product(const Node& node) {
  return std::holds_alternative<LinearOp>(node.op) || std::holds_alternative<ConvOp>(node.op);
}

// What the kernels can apply to a result as they store it.
bool takes_function(const Node& node, Elementwise function) {
  if (std::holds_alternative<GatedMixOp>(node.op)) return function == Elementwise::kSilu;
  return is_product(node) || std::holds_alternative<DepthwiseConvOp>(node.op) ||
         std::holds_alternative<UpsampleConvOp>(node.op) ||
         std::holds_alternative<Conv1dOp>(node.op) || std::holds_alternative<S4ConvOp>(node.op);
}

// Whether the kernel can add another value to its result as it stores it.
bool takes_sum(const Node& node) {
  return is_product(node) || std::holds_alternative<UpsampleConvOp>(node.op) ||
         std::holds_alternative<ResizeOp>(node.op);
}

// Whether the weights of a product can be packed in pairs of columns.
bool can_pair(const Node& node) {
  const auto* conv = std::get_if<ConvOp>(&node.op);
  const auto* linear = std::get_if<LinearOp>(&node.op);
  return (conv != nullptr && is_linear(*conv)) || (linear != nullptr && linear->groups == 1);
}

class Fuser {
 public:
  Fuser(const Graph& graph, const std::vector<int>& keep)
      : graph_(graph), readers_(graph.nodes.size(), 0), unit_(graph.nodes.size(), -1) {
    for (const Node& node : graph.nodes) {
      for (int input : node.inputs) ++readers_[input];
    }
    for (const Output& output : graph.outputs) ++readers_[output.node];
    for (int node : keep) ++readers_[node];
    for (size_t id = 0; id < graph.nodes.size(); ++id) add(static_cast<int>(id));
  }

  std::vector<FusedNode> take() {
    std::erase_if(units_, [](const FusedNode& unit) { return unit.node < 0; });
    return std::move(units_);
  }

 private:
  const Node& node(int id) const { return graph_.node(id); }

  // Whether a batch norm can be folded into the weights, which nothing else may use then.
  bool takes_norm(const Node& maker) const {
    const bool weighs = is_product(maker) || std::holds_alternative<DepthwiseConvOp>(maker.op);
    const auto uses = [&](const Node& other) {
      return !other.params.empty() && other.params[0] == maker.params[0];
    };
    return weighs && std::count_if(graph_.nodes.begin(), graph_.nodes.end(), uses) == 1;
  }

  void add(int id) {
    if (fused_behind(id)) return;
    FusedNode unit;
    unit.node = unit.result = id;
    unit.producers.assign(node(id).inputs.size(), -1);
    fuse_before(unit);
    unit_[id] = static_cast<int>(units_.size());
    units_.push_back(std::move(unit));
  }

  // The unit that makes `value` if that has one reader; null otherwise.
  FusedNode* only_maker(int value) {
    return readers_[value] == 1 && unit_[value] >= 0 ? &units_[unit_[value]] : nullptr;
  }

  // The same if nothing is fused with it yet and it is a node of this operation.
  template <class Operation>
  FusedNode* plain_maker(int value) {
    FusedNode* maker = only_maker(value);
    if (maker == nullptr || maker->result != maker->node) return nullptr;
    return std::holds_alternative<Operation>(node(maker->node).op) ? maker : nullptr;
  }

  // ---- behind ----

  bool fused_behind(int id) {
    if (const auto* activation = std::get_if<ActivationOp>(&node(id).op)) {
      FusedNode* maker = only_maker(node(id).inputs[0]);
      if (maker == nullptr || maker->function != Elementwise::kIdentity || maker->swiglu ||
          !takes_function(node(maker->node), activation->function)) {
        return false;
      }
      maker->function = activation->function;
      return give(*maker, id);
    }
    if (std::holds_alternative<SwiGluOp>(node(id).op)) {
      FusedNode* maker = only_maker(node(id).inputs[0]);
      if (maker == nullptr || maker->result != maker->node || !can_pair(node(maker->node))) {
        return false;
      }
      maker->swiglu = true;
      return give(*maker, id);
    }
    if (std::holds_alternative<BatchNormOp>(node(id).op)) {
      FusedNode* maker = only_maker(node(id).inputs[0]);
      if (maker == nullptr || maker->result != maker->node || !takes_norm(node(maker->node))) {
        return false;
      }
      maker->norm = id;
      return give(*maker, id);
    }
    return std::holds_alternative<AddOp>(node(id).op) && fused_sum(id);
  }

  // x + norm(product(y)), x + resize(y): what makes the branch adds x as it stores, so x must exist
  // before it runs. Of a residual sum the branch is the second operand, which training may leave
  // out.
  bool fused_sum(int id) {
    const int a = node(id).inputs[0], b = node(id).inputs[1];
    for (const auto& [branch, other] : {std::pair(b, a), std::pair(a, b)}) {
      if (branch == a && std::get<AddOp>(node(id).op).residual) continue;
      FusedNode* maker = only_maker(branch);
      if (maker == nullptr || !takes_sum(node(maker->node)) || other >= maker->node ||
          (maker->result != maker->node && maker->result != maker->norm)) {
        continue;
      }
      maker->residual = other;
      maker->sum = id;
      return give(*maker, id);
    }
    return false;
  }

  bool give(FusedNode& unit, int result) {
    unit.result = result;
    unit_[result] = static_cast<int>(&unit - units_.data());
    return true;
  }

  // ---- before ----

  void fuse_before(FusedNode& unit) {
    const std::vector<int>& inputs = node(unit.node).inputs;
    if (std::holds_alternative<GatedMixOp>(node(unit.node).op)) {
      for (size_t operand : {size_t{1}, size_t{2}}) {
        FusedNode* maker = plain_maker<RmsNormOp>(inputs[operand]);
        if (maker == nullptr) continue;
        const int other = unit.producers[3 - operand];
        if (other >= 0 && !same_norm(node(other), node(maker->node))) continue;
        take_over(unit, operand, *maker);
      }
    } else if (std::holds_alternative<GlaOp>(node(unit.node).op)) {
      FusedNode* maker = plain_maker<LinearOp>(inputs[1]);
      if (maker != nullptr) take_over(unit, 1, *maker);
    }
  }

  static bool same_norm(const Node& a, const Node& b) {
    const auto &first = std::get<RmsNormOp>(a.op), &second = std::get<RmsNormOp>(b.op);
    return first.eps == second.eps && first.groups == second.groups;
  }

  static void take_over(FusedNode& unit, size_t operand, FusedNode& maker) {
    unit.producers[operand] = maker.node;
    maker.node = -1;
  }

  const Graph& graph_;
  std::vector<int> readers_;  // of each node's value
  std::vector<int> unit_;     // that makes each node's value, or -1
  std::vector<FusedNode> units_;
};

}  // namespace

std::vector<FusedNode> fuse(const Graph& graph, const std::vector<int>& keep) {
  return Fuser(graph, keep).take();
}

}  // namespace vig
