#include "vig/graph/graph.h"

#include <algorithm>
#include <unordered_map>

#include "vig/base/error.h"
#include "vig/graph/scan_path.h"

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

int window_count(int size, int kernel, int stride, int padding) {
  if (padding < 0) return (size + stride - 1) / stride;
  return (size + 2 * padding - kernel) / stride + 1;
}

int window_padding(int size, int kernel, int stride, int padding) {
  if (padding == kEndPadding) return 0;
  if (padding != kSamePadding) return padding;
  const int lines = (window_count(size, kernel, stride, padding) - 1) * stride + kernel - size;
  return std::max(lines, 0) / 2;
}

namespace {

// The first `count` rows that are no extra ones.
std::vector<int64_t> free_rows(int64_t count, const std::vector<ExtraRow>& extra,
                               int ExtraRow::*index) {
  std::vector<int64_t> rows;
  auto next = extra.begin();
  for (int64_t row = 0; static_cast<int64_t>(rows.size()) < count; ++row) {
    while (next != extra.end() && (*next).*index < row) ++next;
    if (next != extra.end() && (*next).*index == row) {
      ++next;
    } else {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace

std::vector<int64_t> table_cells(const AddPositionOp& op) {
  return free_rows(static_cast<int64_t>(op.rows) * op.cols, op.extra, &ExtraRow::table);
}

std::vector<int64_t> sequence_cells(const AddPositionOp& op) {
  return free_rows(static_cast<int64_t>(op.height) * op.width, op.extra, &ExtraRow::sequence);
}

int64_t positions_of(const std::vector<GridSize>& grids) {
  int64_t positions = 0;
  for (const GridSize& grid : grids) positions += grid.positions();
  return positions;
}

const char* op_name(const Op& op) {
  return std::visit(Overloaded{
                        [](const InputOp&) { return "input"; },
                        [](const ConvOp&) { return "conv"; },
                        [](const DepthwiseConvOp&) { return "dwconv"; },
                        [](const MaxPoolOp&) { return "max_pool"; },
                        [](const LinearOp&) { return "linear"; },
                        [](const LayerNormOp&) { return "layer_norm"; },
                        [](const RmsNormOp&) { return "rms_norm"; },
                        [](const BatchNormOp&) { return "batch_norm"; },
                        [](const ActivationOp& act) { return elementwise_name(act.function); },
                        [](const AddOp&) { return "add"; },
                        [](const MulOp&) { return "mul"; },
                        [](const ChannelGateOp&) { return "channel_gate"; },
                        [](const ScaleOp&) { return "scale"; },
                        [](const AddPositionOp&) { return "add_position"; },
                        [](const RotaryOp&) { return "rotary"; },
                        [](const TokensOp&) { return "tokens"; },
                        [](const InsertRowsOp&) { return "insert_rows"; },
                        [](const SelectRowsOp&) { return "select_rows"; },
                        [](const SwiGluOp&) { return "swiglu"; },
                        [](const GatedMixOp&) { return "gated_mix"; },
                        [](const GlaOp&) { return "gla"; },
                        [](const AttentionOp&) { return "attention"; },
                        [](const WindowAttentionOp&) { return "window_attention"; },
                        [](const SpaceToDepthOp&) { return "space_to_depth"; },
                        [](const TokenLinearOp&) { return "token_linear"; },
                        [](const SelectChannelsOp&) { return "select_channels"; },
                        [](const Conv1dOp&) { return "conv1d"; },
                        [](const SelectiveScanOp&) { return "selective_scan"; },
                        [](const QShiftOp&) { return "q_shift"; },
                        [](const BiWkvOp&) { return "bi_wkv"; },
                        [](const S4ConvOp&) { return "s4_conv"; },
                        [](const MeanPoolOp&) { return "mean_pool"; },
                        [](const AveragePoolOp&) { return "average_pool"; },
                        [](const AdaptivePoolOp&) { return "adaptive_pool"; },
                        [](const ResizeOp&) { return "resize"; },
                        [](const UpsampleConvOp&) { return "upsample_conv"; },
                        [](const ConcatChannelsOp&) { return "concat_channels"; },
                        [](const AddRowOp&) { return "add_row"; },
                        [](const DropChannelsOp&) { return "drop_channels"; },
                        [](const DeformableOp&) { return "deformable"; },
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

int Graph::find_input(std::string_view name) const { return find_by_name(inputs, name); }
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
    if (param.trained) count = checked_sum("parameters", count, param.shape.elements());
  }
  return count;
}

void share_parameters(std::span<Graph> graphs) {
  std::vector<ParamSpec> all;
  std::unordered_map<std::string, int> index;
  for (Graph& graph : graphs) {
    std::vector<int> moved;  // where each of the graph's parameters stands now
    for (const ParamSpec& param : graph.params) {
      const auto [found, fresh] = index.emplace(param.name, static_cast<int>(all.size()));
      if (fresh) {
        all.push_back(param);
      } else if (all[found->second].shape != param.shape) {
        fail("parameter {} is {} in one graph of the model and {} in another", param.name,
             all[found->second].shape.str(), param.shape.str());
      }
      moved.push_back(found->second);
    }
    for (Node& node : graph.nodes) {
      for (int& param : node.params) param = moved[param];
    }
  }
  for (Graph& graph : graphs) graph.params = all;
}

namespace {

// The nodes as if nothing were resized: maps that have the right size for an image are not, so
// that graphs of one network differ in it.
std::vector<Node> unresized_nodes(const Graph& graph) {
  std::vector<Node> nodes;
  std::vector<int> moved;  // where each node stands now
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<ResizeOp>(node.op)) {
      moved.push_back(moved[node.inputs.at(0)]);
      continue;
    }
    moved.push_back(static_cast<int>(nodes.size()));
    nodes.push_back(node);
    for (int& input : nodes.back().inputs) input = moved[input];
  }
  return nodes;
}

}  // namespace

std::string difference(const Graph& a, const Graph& b) {
  for (size_t i = 0; i < std::max(a.params.size(), b.params.size()); ++i) {
    const auto text = [i](const Graph& graph) {
      if (i >= graph.params.size()) return std::string("missing");
      return graph.params[i].name + " " + graph.params[i].shape.str();
    };
    if (text(a) != text(b)) {
      return fmt::format("parameter {} is {} in one and {} in the other", i, text(a), text(b));
    }
  }
  const std::vector<Node> nodes_a = unresized_nodes(a), nodes_b = unresized_nodes(b);
  for (size_t i = 0; i < std::max(nodes_a.size(), nodes_b.size()); ++i) {
    const auto same = [](const Node& one, const Node& other) {
      return one.op == other.op && one.inputs == other.inputs && one.params == other.params &&
             one.grid.channels == other.grid.channels;
    };
    if (i < nodes_a.size() && i < nodes_b.size() && same(nodes_a[i], nodes_b[i])) continue;
    const auto text = [i](const std::vector<Node>& nodes) {
      return i < nodes.size() ? op_name(nodes[i].op) : "missing";
    };
    return fmt::format("operation {} is {} in one and {} in the other, or has other attributes", i,
                       text(nodes_a), text(nodes_b));
  }
  return "";
}

MacCount count_macs(const Graph& graph, const Node& node) {
  MacCount macs;
  const auto weight_per_position = [&] {
    macs.dense = checked_product(
        kMacs, {node.grid.positions(), graph.params[node.params[0]].shape.elements()});
  };
  std::visit(
      Overloaded{
          [&](const ConvOp&) { weight_per_position(); },
          [&](const DepthwiseConvOp&) { weight_per_position(); },
          [&](const LinearOp&) { weight_per_position(); },
          [&](const GlaOp& op) {
            macs.scan = checked_product(kMacs, {node.grid.positions(), op.heads, 3, op.key_dim,
                                                op.value_dim, gla_directions(op)});
          },
          // Both products, q k^T and p v, of every query with its T or n keys.
          [&](const AttentionOp&) {
            const int64_t tokens = node.grid.positions();
            macs.dense = checked_product(kMacs, {2, tokens, tokens, node.grid.channels});
          },
          [&](const WindowAttentionOp& op) {
            macs.dense = checked_product(kMacs, {2, node.grid.positions(), op.window_height,
                                                 op.window_width, node.grid.channels});
          },
          [&](const TokenLinearOp&) {
            const int64_t tokens = node.grid.positions();
            macs.dense = checked_product(kMacs, {tokens, tokens, node.grid.channels});
          },
          [](const SpaceToDepthOp&) {},
          [](const SelectChannelsOp&) {},
          [&](const Conv1dOp&) { weight_per_position(); },
          [&](const SelectiveScanOp& op) {
            const int64_t length = scan_length(op, node.grid.height, node.grid.width);
            macs.scan = checked_product(kMacs, {length, op.channels, 4 * op.states + 2});
          },
          [&](const BiWkvOp&) {
            macs.scan = checked_product(kMacs, {node.grid.elements(), 11});
          },
          [&](const S4ConvOp& op) {
            const S4Lines lines = s4_lines(op, node.grid.height, node.grid.width);
            macs.scan = checked_product(
                kMacs, {lines.count, s4_pairs(op, lines.tokens), node.grid.channels});
          },
          [](const QShiftOp&) {},
          [](const InputOp&) {},
          [](const MaxPoolOp&) {},
          [](const LayerNormOp&) {},
          [](const RmsNormOp&) {},
          [](const BatchNormOp&) {},
          [](const ActivationOp&) {},
          [](const AddOp&) {},
          [](const MulOp&) {},
          [](const ChannelGateOp&) {},
          [](const ScaleOp&) {},
          [](const AddPositionOp&) {},
          [](const RotaryOp&) {},
          [](const TokensOp&) {},
          [](const InsertRowsOp&) {},
          [](const SelectRowsOp&) {},
          [](const SwiGluOp&) {},
          [](const GatedMixOp&) {},
          [](const MeanPoolOp&) {},
          [](const AveragePoolOp&) {},
          [](const AdaptivePoolOp&) {},
          [](const ResizeOp&) {},
          // Every position of the result is met by one of the four filters.
          [&](const UpsampleConvOp&) {
            macs.dense = checked_product(
                kMacs, {node.grid.positions() / 4, graph.params[node.params[0]].shape.elements()});
          },
          [](const ConcatChannelsOp&) {},
          [](const AddRowOp&) {},
          [](const DropChannelsOp&) {},
          // Four neighbours and a weight for every sampled value.
          [&](const DeformableOp& op) {
            macs.dense = checked_product(
                kMacs,
                {5, node.grid.elements(), static_cast<int64_t>(op.levels.size()), op.points});
          },
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
