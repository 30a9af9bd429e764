#include "vig/study/counting.h"

#include <algorithm>
#include <string_view>
#include <variant>

namespace vig::study {
namespace {

constexpr std::string_view kUncounted = ".mlp.down_proj.weight";

bool is_uncounted(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<LinearOp>(node.op) || node.params.empty()) return false;
  return graph.params[static_cast<size_t>(node.params[0])].name.ends_with(kUncounted);
}

// Of what a scan counts truly.
int64_t baselines_scan(const Node& node, int64_t scan) {
  if (const auto* op = std::get_if<SelectiveScanOp>(&node.op)) {
    return scan / (4 * op->states + 2) * (9 * op->states + 1);
  }
  if (std::holds_alternative<BiWkvOp>(node.op)) return scan / 11 * 29;
  return scan;
}

// What mmcv's counter makes of one node of a dense backbone. It does not see scans, sampling,
// attention.
int64_t counter_sees(const Graph& graph, const Node& node) {
  const int64_t elements = node.grid.elements();
  const auto name = [&] { return graph.params[static_cast<size_t>(node.params[0])].name; };
  const auto conv = [&] {
    return count_macs(graph, node).dense + (node.params.size() > 1 ? elements : 0);
  };
  if (std::holds_alternative<ConvOp>(node.op)) return conv();
  if (std::holds_alternative<DepthwiseConvOp>(node.op)) return conv();
  if (std::holds_alternative<UpsampleConvOp>(node.op)) return conv();
  if (std::holds_alternative<LinearOp>(node.op)) return count_macs(graph, node).dense;
  if (std::holds_alternative<LayerNormOp>(node.op)) {
    return name().find("patch_embed") == std::string::npos ? 2 * elements : 0;
  }
  if (std::holds_alternative<MaxPoolOp>(node.op)) {
    return graph.node(node.inputs[0]).grid.elements();
  }
  const auto* activation = std::get_if<ActivationOp>(&node.op);
  return activation != nullptr && activation->function == Elementwise::kRelu ? elements : 0;
}

}  // namespace

BackboneCounts count_backbone(const Graph& graph) {
  int last = -1;
  for (const char* map : {"backbone.f1", "backbone.f2", "backbone.f3", "backbone.f4"}) {
    last = std::max(last, graph.find_module(map));
  }
  BackboneCounts counts;
  for (int id = 0; id <= last; ++id) {
    const Node& node = graph.node(id);
    const MacCount macs = count_macs(graph, node);
    counts.multiply_adds += macs.total();
    const int64_t seen = is_uncounted(graph, node) ? 0 : counter_sees(graph, node);
    counts.as_the_paper += seen;
    if (seen == 0) counts.with_what_it_misses += macs.total();
    counts.as_the_paper_baselines += seen;
    if (std::holds_alternative<AttentionOp>(node.op) ||
        std::holds_alternative<WindowAttentionOp>(node.op)) {
      counts.as_the_paper_baselines += macs.dense;
    }
    if (std::holds_alternative<BiWkvOp>(node.op)) {
      counts.as_the_paper_baselines += 27 * node.grid.elements();
    }
  }
  const int tokens = graph.find_module("backbone.tokens");
  if (tokens >= 0) counts.as_the_paper_baselines += 660 * graph.node(tokens).grid.elements();
  counts.with_what_it_misses += counts.as_the_paper;
  return counts;
}

Counts count_ways(const Graph& graph) {
  Counts counts;
  for (const Node& node : graph.nodes) {
    const MacCount macs = count_macs(graph, node);
    counts.all += macs;
    if (!is_uncounted(graph, node)) counts.without_down_proj += macs.total();
    counts.baselines_way += macs.dense + baselines_scan(node, macs.scan);
  }
  return counts;
}

}  // namespace vig::study
