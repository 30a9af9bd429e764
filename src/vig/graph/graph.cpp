#include "vig/graph/graph.h"

#include "vig/base/error.h"

namespace vig {
namespace {

[[noreturn]] void beyond_63_bits(std::string_view what) {
  fail_usage("the model's {} do not fit 63 bits; make its fields or the input size smaller", what);
}

int64_t checked_sum(std::string_view what, int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) beyond_63_bits(what);
  return sum;
}

int64_t checked_product(std::string_view what, std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) beyond_63_bits(what);
  }
  return product;
}

constexpr std::string_view kMacs = "multiply-adds";

}  // namespace

int64_t MacCount::total() const { return checked_sum(kMacs, dense, scan); }

MacCount& MacCount::operator+=(const MacCount& other) {
  dense = checked_sum(kMacs, dense, other.dense);
  scan = checked_sum(kMacs, scan, other.scan);
  return *this;
}

const char* op_name(const Op& op) {
  return std::visit(Overloaded{
                        [](const InputOp&) { return "input"; },
                        [](const ConvOp&) { return "conv"; },
                        [](const DepthwiseConvOp&) { return "dwconv"; },
                        [](const LinearOp&) { return "linear"; },
                        [](const LayerNormOp&) { return "layer_norm"; },
                        [](const RmsNormOp&) { return "rms_norm"; },
                        [](const ActivationOp& act) { return elementwise_name(act.function); },
                        [](const AddOp&) { return "add"; },
                        [](const MulOp&) { return "mul"; },
                        [](const ScaleOp&) { return "scale"; },
                        [](const AddPositionOp&) { return "add_position"; },
                        [](const SwiGluOp&) { return "swiglu"; },
                        [](const GatedMixOp&) { return "gated_mix"; },
                        [](const GlaOp&) { return "gla"; },
                        [](const MeanPoolOp&) { return "mean_pool"; },
                    },
                    op);
}

namespace {

int find_by_name(const std::vector<Output>& list, std::string_view name) {
  for (const Output& entry : list) {
    if (entry.name == name) return entry.node;
  }
  return -1;
}

}  // namespace

int Graph::find_output(std::string_view name) const { return find_by_name(outputs, name); }
int Graph::find_module(std::string_view name) const { return find_by_name(modules, name); }

std::string Graph::label(int node) const {
  if (!nodes[node].params.empty()) {
    const std::string& name = params[nodes[node].params[0]].name;
    const size_t dot = name.rfind('.');
    const bool has_suffix = dot != std::string::npos && name.substr(dot) == ".weight";
    return has_suffix ? name.substr(0, dot) : name;
  }
  for (const Output& module : modules) {
    if (module.node == node) return module.name;
  }
  return "";
}

int64_t Graph::param_count() const {
  int64_t count = 0;
  for (const ParamSpec& param : params) {
    count = checked_sum("parameters", count, param.shape.elements());
  }
  return count;
}

MacCount count_macs(const Graph& graph, const Node& node) {
  MacCount macs;
  const auto weight_per_position = [&] {
    macs.dense = checked_product(
        kMacs, {node.grid.positions(), graph.params[node.params[0]].shape.elements()});
  };
  std::visit(Overloaded{
                 [&](const ConvOp&) { weight_per_position(); },
                 [&](const DepthwiseConvOp&) { weight_per_position(); },
                 [&](const LinearOp&) { weight_per_position(); },
                 [&](const GlaOp& op) {
                   macs.scan =
                       checked_product(kMacs, {node.grid.positions(), op.heads, 3, op.key_dim,
                                               op.value_dim, gla_directions(op)});
                 },
                 [](const InputOp&) {},
                 [](const LayerNormOp&) {},
                 [](const RmsNormOp&) {},
                 [](const ActivationOp&) {},
                 [](const AddOp&) {},
                 [](const MulOp&) {},
                 [](const ScaleOp&) {},
                 [](const AddPositionOp&) {},
                 [](const SwiGluOp&) {},
                 [](const GatedMixOp&) {},
                 [](const MeanPoolOp&) {},
             },
             node.op);
  return macs;
}

MacCount count_macs(const Graph& graph) {
  MacCount sum;
  for (const Node& node : graph.nodes) sum += count_macs(graph, node);
  return sum;
}

}  // namespace vig
