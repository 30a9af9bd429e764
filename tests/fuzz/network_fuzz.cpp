// The name of a network, then FIELD=VALUE in a line each: what a weight file may say of its own.
#include <algorithm>

#include "fuzz/targets.h"
#include "vig/graph/graph.h"
#include "vig/models/family.h"

namespace vig::fuzz {
namespace {

constexpr int kDeepest = 16;  // more blocks are more of the same
constexpr int kLargest = 8192;

std::string take_line(std::string_view& rest) {
  const std::string line(rest.substr(0, rest.find('\n')));
  rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  return line;
}

}  // namespace

void run_network(Bytes bytes) {
  std::string_view rest = as_text(bytes);
  ModelSpec spec = find_model(take_line(rest));
  while (!rest.empty()) {
    const std::string line = take_line(rest);
    const size_t equal = line.find('=');
    if (equal == line.npos) return;
    override_field(spec, line.substr(0, equal), line.substr(equal + 1));
  }
  const GridSize size = described_size(spec);
  if (spec.config->blocks() > kDeepest || std::max(size.height, size.width) > kLargest) return;
  for (const Graph& graph : build_graphs(spec, size.height, size.width)) {
    check(count_macs(graph).total() >= 0, "a negative number of multiply-adds");
    for (const Node& node : graph.nodes) check(node.grid.channels >= 1, "a layer without channels");
  }
}

}  // namespace vig::fuzz
