#include "vig/runtime/precision.h"

#include <algorithm>

#include "vig/base/error.h"
#include "vig/graph/graph.h"
#include "vig/kernels/gemm_int8.h"

namespace vig {
namespace {

constexpr std::string_view kGateProjection = "gk_proj";

// Whether `pattern`, where * stands for any characters, is the whole of `text`.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
}

// Short sums gain no time in int8, and their errors do not average out. The usual one is the first
// convolution of a stem, 3 x 3 over the colours.
constexpr int64_t kLeastInt8Taps = 32;

// The products of a node without groups, 0 of any other.
int64_t taps(const Graph& graph, const Node& node) {
  const auto* linear = std::get_if<LinearOp>(&node.op);
  const auto* conv = std::get_if<ConvOp>(&node.op);
  if (linear == nullptr && conv == nullptr) return 0;
  if ((linear != nullptr ? linear->groups : conv->groups) != 1) return 0;
  const Shape& weight = graph.params[node.params[0]].shape;
  return linear != nullptr ? weight[-1] : weight.elements() / weight[0];
}

// Whether it is a product whose result leaves the network. Convolutions with larger kernels make
// features for other networks instead, as those of a feature pyramid do.
bool makes_output(const Graph& graph, const Node& node) {
  const auto* conv = std::get_if<ConvOp>(&node.op);
  if (conv != nullptr && !is_linear(*conv)) return false;
  return std::any_of(graph.outputs.begin(), graph.outputs.end(),
                     [&](const Output& output) { return &graph.node(output.node) == &node; });
}

bool fits_int8(const Graph& graph, const Node& node) {
  const int64_t k = taps(graph, node);
  return k >= kLeastInt8Taps && k <= kMostInt8Taps && !makes_output(graph, node) &&
         layer_name(graph, node).find(kGateProjection) == std::string::npos;
}

}  // namespace

Arithmetic arithmetic_from_name(std::string_view name) {
  for (const Arithmetic arithmetic : {Arithmetic::kFloat32, Arithmetic::kInt8}) {
    if (name == arithmetic_name(arithmetic)) return arithmetic;
  }
  fail_usage("precision \"{}\": expected float32 or int8", name);
}

const char* arithmetic_name(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kInt8 ? "int8" : "float32";
}

std::string layer_name(const Graph& graph, const Node& node) {
  if (node.params.empty()) return "";
  const std::string& name = graph.params[node.params[0]].name;
  return name.substr(0, name.rfind('.'));
}

bool uses_int8(const Precision& precision, const Graph& graph, const Node& node) {
  if (precision.arithmetic != Arithmetic::kInt8 || !fits_int8(graph, node)) return false;
  const std::string layer = layer_name(graph, node);
  return std::none_of(precision.float_layers.begin(), precision.float_layers.end(),
                      [&](const std::string& pattern) { return matches(pattern, layer); });
}

void check_float_layers(const Precision& precision, std::span<const Graph> graphs) {
  for (const std::string& pattern : precision.float_layers) {
    const bool found = std::any_of(graphs.begin(), graphs.end(), [&](const Graph& graph) {
      return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return fits_int8(graph, node) && matches(pattern, layer_name(graph, node));
      });
    });
    if (!found) {
      fail_usage("float layers \"{}\": no layer of that name would be computed in int8", pattern);
    }
  }
}

}  // namespace vig
