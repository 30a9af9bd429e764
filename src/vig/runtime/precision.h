// Which layers are computed with integers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vig/base/shape.h"

namespace vig {

struct Graph;
struct Node;

// "float32", "int8". Throws for other names.
Arithmetic arithmetic_from_name(std::string_view name);
const char* arithmetic_name(Arithmetic arithmetic);

// The name of a node's layer: that of its first parameter up to the last dot.
std::string layer_name(const Graph& graph, const Node& node);

// The one rule: whether a node of a graph is computed with integers. Products and dense
// convolutions are, but for
// - layers that compute an output of the network, the classifier above all,
// - the low-rank projections of the scan's gates (gk_proj), which are small and sensitive,
// - layers in groups,
// - layers that float_layers names.
bool uses_int8(const Precision& precision, const Graph& graph, const Node& node);

// Throws if a pattern of float_layers names no layer of these graphs that would be int8.
void check_float_layers(const Precision& precision, std::span<const Graph> graphs);

}  // namespace vig
