// A network as data: nodes in execution order, parameters in declaration order, named outputs.
// Built for one input size by a Builder, never changed afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vig/graph/ops.h"
#include "vig/graph/param.h"

namespace vig {

// The grid of one value, per image.
struct Grid {
  int height = 0;
  int width = 0;
  int channels = 0;

  int64_t positions() const { return static_cast<int64_t>(height) * width; }
  int64_t elements() const { return positions() * channels; }
  bool operator==(const Grid&) const = default;
};

// The output of node `id`.
struct Value {
  int id = -1;
};

struct Node {
  Op op;
  std::vector<int> inputs;  // node ids, smaller than this node's
  std::vector<int> params;  // indices into Graph::params, e.g. weight, bias
  Grid grid;                // of the output
};

// A name for the output of a node.
struct Output {
  std::string name;
  int node = -1;
};

// Multiply-adds of one image. Norms, activations and other elementwise work are not counted.
struct MacCount {
  int64_t dense = 0;  // linear, convolution, depthwise convolution, attention
  // Recurrent form: 3 K V per token, head and direction of gated linear attention; 4 N + 2 per
  // token, channel and direction of a selective scan; 11 per token and channel of bi-WKV. The long
  // convolution of S4: one per pair of tokens and channel of the result.
  int64_t scan = 0;

  // Both throw a usage error when the count does not fit 63 bits, as count_macs does.
  int64_t total() const;
  MacCount& operator+=(const MacCount& other);
};

// A model is one graph or several, with plain code between them. Each graph of a model lists the
// parameters of all, see share_parameters.
struct Graph {
  std::vector<Node> nodes;
  std::vector<ParamSpec> params;
  std::vector<Output> inputs;
  std::vector<Output> outputs;
  std::vector<Output> modules;  // what each module of the published code puts out

  const Node& node(int id) const { return nodes[id]; }
  int find_input(std::string_view name) const;   // node id, or -1
  int find_output(std::string_view name) const;  // node id, or -1
  int find_module(std::string_view name) const;  // node id, or -1
  std::string label(int node) const;  // its module or parameter name, for people; may be empty
  int64_t param_count() const;
};

// Gives the graphs of one model one list of parameters, in the order in which they are first
// declared. Parameters of one name are one parameter; throws where their shapes differ.
void share_parameters(std::span<Graph> graphs);

// Where two graphs are different networks, in words; empty where they are the same network, perhaps
// for images of another size.
std::string difference(const Graph& a, const Graph& b);

MacCount count_macs(const Graph& graph, const Node& node);
MacCount count_macs(const Graph& graph);

}  // namespace vig
