#include "vig/study/counting.h"

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
int64_t rivals_scan(const Node& node, int64_t scan) {
  if (const auto* op = std::get_if<SelectiveScanOp>(&node.op)) {
    return scan / (4 * op->states + 2) * (9 * op->states + 1);
  }
  if (std::holds_alternative<BiWkvOp>(node.op)) return scan / 11 * 29;
  return scan;
}

}  // namespace

Counts count_ways(const Graph& graph) {
  Counts counts;
  for (const Node& node : graph.nodes) {
    const MacCount macs = count_macs(graph, node);
    counts.all += macs;
    if (!is_uncounted(graph, node)) counts.without_down_proj += macs.total();
    counts.rivals_way += macs.dense + rivals_scan(node, macs.scan);
  }
  return counts;
}

}  // namespace vig::study
