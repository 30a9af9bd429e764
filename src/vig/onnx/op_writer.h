// What the functions of ops.h see of the graph that is being written: the operands of one node as
// names of ONNX values, its parameters as values, and where its result goes.
//
// A value of our graph exists in one or more forms, made from each other where they are asked for:
//   rows     [batch, T, C], which norms, products and scans want; [batch, H, W, C] for any size
//   planes   [batch, C, H, W], which convolutions want
//   vector   [batch, C], of a single position
// An elementwise operation stays in the form of its first operand, so that the transposes between
// rows and planes stand where a convolution begins or ends and nowhere else.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "vig/graph/graph.h"
#include "vig/onnx/export.h"
#include "vig/onnx/node_writer.h"
#include "vig/runtime/int8_weights.h"
#include "vig/weights/load.h"

namespace vig::onnx_format {

enum class Form { kRows, kPlanes, kVector };

class OpWriter {
 public:
  OpWriter(const Graph& graph, const Weights& weights, const OnnxOptions& options,
           ::onnx::GraphProto& out);

  // Writes all nodes, inputs and outputs.
  void run();

  // ---- of the node that is being written ----

  const Grid& grid() const { return node_->grid; }
  const Grid& grid(size_t operand) const { return graph_.node(node_->inputs[operand]).grid; }
  size_t operands() const { return node_->inputs.size(); }
  // The first form in which the operand exists.
  Form form(size_t operand) const { return values_[input(operand)].first; }
  std::string in(size_t operand, Form form);
  std::string rows(size_t operand) { return in(operand, Form::kRows); }
  std::string planes(size_t operand) { return in(operand, Form::kPlanes); }
  // Whether the operand is a learned row, the same for all images, with a batch of 1.
  bool is_constant(size_t operand) const;

  void give(Form form, const std::string& name);
  // The result is the operand.
  void give_operand(size_t operand);

  size_t params() const { return node_->params.size(); }
  bool has_param(size_t i) const { return i < params(); }
  const ParamSpec& spec(size_t i) const { return graph_.params[node_->params[i]]; }
  // The values of a parameter; none where the node has no such parameter.
  std::vector<float> param(size_t i) const;
  // The parameter as it is stored.
  std::string stored(size_t i);

  // Whether the node is a layer that the options ask for in int8.
  bool is_int8() const { return uses_int8(options_.precision, graph_, *node_); }
  // The codes of a weight.
  Int8Weights codes(size_t i) const;
  // A value as bytes: their name, then those of their scale and of their zero. Made once.
  const Names& quantized(const std::string& value);
  bool has_int8() const { return !quantized_.empty(); }

  // The batch norm that is folded into this node's weights, or null.
  const Node* folded() const;
  // Values of a parameter of another node.
  std::vector<float> param_of(const Node& node, size_t i) const;
  // Whether the node's batch norm is part of its operand already.
  bool is_folded() const { return folded_away_[node_id_]; }

  // A number for each channel, to be combined with a value of this form.
  std::string per_channel(Form form, const std::vector<float>& values);
  // The axis of the channels.
  int64_t channel_axis(Form form) const { return form == Form::kPlanes ? 1 : -1; }

  bool ort() const { return options_.ort; }
  bool any_size() const { return options_.any_size; }
  // Throws for a graph of any size: this operation fixes it.
  void fix_size() const;
  // The sizes of a result in rows, for a Reshape that leaves the batch alone.
  Axes row_shape(int64_t channels) const { return {0, grid().positions(), channels}; }

  NodeWriter& nodes() { return nodes_; }
  // Says which shape a value has, for operators that shape inference does not know.
  void declare(const std::string& name, const Axes& sizes_of_image);
  void use_ort_domain() { ort_domain_ = true; }
  bool uses_ort_domain() const { return ort_domain_; }

  // A value of the graph itself.
  void give_input(const std::string& name);

 private:
  struct Value {
    Form first = Form::kRows;
    std::array<std::string, 3> names;  // by form; empty: not made yet
  };

  size_t input(size_t operand) const { return static_cast<size_t>(node_->inputs[operand]); }
  std::string convert(const Value& value, const Grid& grid, Form to);
  std::string name_in(size_t node, Form form);
  void add_output(const std::string& name);
  ::onnx::ValueInfoProto typed(const std::string& name, const Axes& sizes) const;
  Axes shape_of(Form form, const Grid& grid) const;

  const Graph& graph_;
  const Weights& weights_;
  const OnnxOptions& options_;
  ::onnx::GraphProto& out_;
  NodeWriter nodes_;
  std::vector<Value> values_;
  std::map<std::string, Names> quantized_;
  std::vector<int> folded_;        // of each node: the batch norm in its weights, or -1
  std::vector<bool> folded_away_;  // of each node: whether it is such a batch norm
  std::vector<bool> constant_;     // of each node: whether its batch is 1
  const Node* node_ = nullptr;
  size_t node_id_ = 0;
  bool ort_domain_ = false;
};

}  // namespace vig::onnx_format
