#include "vig/onnx/op_writer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vig/base/error.h"
#include "vig/graph/fuse.h"
#include "vig/onnx/ops.h"

namespace vig::onnx_format {

OpWriter::OpWriter(const Graph& graph, const Weights& weights, const OnnxOptions& options,
                   ::onnx::GraphProto& out)
    : graph_(graph),
      weights_(weights),
      options_(options),
      out_(out),
      nodes_(out),
      values_(graph.nodes.size()),
      folded_(graph.nodes.size(), -1),
      folded_away_(graph.nodes.size(), false),
      constant_(graph.nodes.size(), false) {
  for (const FusedNode& fused : fuse(graph)) {
    if (fused.norm < 0) continue;
    folded_[static_cast<size_t>(fused.node)] = fused.norm;
    folded_away_[static_cast<size_t>(fused.norm)] = true;
  }
}

void OpWriter::run() {
  // What no asked-for output needs is left out: the head, where features alone are wanted.
  std::vector<bool> needed(graph_.nodes.size(), false);
  for (const std::string& name : options_.outputs) {
    const int node = graph_.find_output(name);
    if (node < 0) {
      std::vector<std::string> known;
      for (const Output& output : graph_.outputs) known.push_back(output.name);
      fail_usage("the model has no output {}, expected one of {}", name,
                 fmt::format("{}", fmt::join(known, ", ")));
    }
    needed[static_cast<size_t>(node)] = true;
  }
  for (size_t id = needed.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (int operand : graph_.nodes[id].inputs) needed[static_cast<size_t>(operand)] = true;
  }
  for (size_t id = 0; id < graph_.nodes.size(); ++id) {
    const bool is_input = std::holds_alternative<InputOp>(graph_.nodes[id].op);
    if (!needed[id] && !is_input) continue;
    node_ = &graph_.nodes[id];
    node_id_ = id;
    const std::string label = graph_.label(static_cast<int>(id));
    nodes_.set_scope(label.empty() ? op_name(node_->op) : label);
    const std::vector<int>& operands = node_->inputs;
    constant_[id] = !is_input && std::all_of(operands.begin(), operands.end(), [&](int operand) {
      return constant_[static_cast<size_t>(operand)];
    });
    std::visit([this](const auto& op) { write(op, *this); }, node_->op);
  }
  nodes_.set_scope("");
  for (const std::string& name : options_.outputs) add_output(name);
}

bool OpWriter::is_constant(size_t operand) const { return constant_[input(operand)]; }

std::string OpWriter::in(size_t operand, Form form) { return name_in(input(operand), form); }

std::string OpWriter::name_in(size_t node, Form form) {
  Value& value = values_[node];
  std::string& name = value.names[static_cast<size_t>(form)];
  if (name.empty()) name = convert(value, graph_.nodes[node].grid, form);
  return name;
}

std::string OpWriter::convert(const Value& value, const Grid& grid, Form to) {
  const auto made = [&](Form form) { return value.names[static_cast<size_t>(form)]; };
  const int64_t channels = grid.channels, rows = grid.positions();
  if (to == Form::kVector) return nodes_.reshape(made(value.first), {0, channels});
  if (value.first == Form::kVector) {
    const std::string vector = made(Form::kVector);
    if (to == Form::kPlanes) return nodes_.reshape(vector, {0, channels, 1, 1});
    return nodes_.reshape(vector, any_size() ? Axes{0, 1, 1, channels} : Axes{0, 1, channels});
  }
  if (to == Form::kRows) {
    const std::string planes = made(Form::kPlanes);
    if (any_size()) return nodes_.transpose(planes, {0, 2, 3, 1});
    return nodes_.transpose(nodes_.reshape(planes, {0, channels, rows}), {0, 2, 1});
  }
  const std::string sequence = made(Form::kRows);
  if (any_size()) return nodes_.transpose(sequence, {0, 3, 1, 2});
  return nodes_.reshape(nodes_.transpose(sequence, {0, 2, 1}),
                        {0, channels, grid.height, grid.width});
}

Axes OpWriter::shape_of(Form form, const Grid& grid) const {
  if (form == Form::kVector) return {grid.channels};
  if (form == Form::kPlanes) return {grid.channels, grid.height, grid.width};
  return {grid.positions(), grid.channels};
}

void OpWriter::give(Form form, const std::string& name) {
  Value& value = values_[node_id_];
  value.first = form;
  value.names[static_cast<size_t>(form)] = name;
  // Shape inference compares what it finds with this.
  if (!any_size() && !constant_[node_id_]) declare(name, shape_of(form, grid()));
}

void OpWriter::give_operand(size_t operand) { values_[node_id_] = values_[input(operand)]; }

void OpWriter::give_input(const std::string& name) {
  const bool planes = grid().height > 1;
  *out_.add_input() = typed(name, shape_of(planes ? Form::kPlanes : Form::kRows, grid()));
  Value& value = values_[node_id_];
  value.first = planes ? Form::kPlanes : Form::kRows;
  value.names[static_cast<size_t>(value.first)] = name;
}

void OpWriter::add_output(const std::string& name) {
  const auto node = static_cast<size_t>(graph_.find_output(name));
  const Grid& of = graph_.nodes[node].grid;
  Form form = of.height > 1 ? Form::kPlanes : Form::kRows;
  if (values_[node].first == Form::kVector || (!any_size() && of.positions() == 1)) {
    form = Form::kVector;
  }
  const std::string value = name_in(node, form);
  ::onnx::NodeProto& last = *out_.add_node();
  last.set_op_type("Identity");
  last.set_name(name);
  last.add_input(value);
  last.add_output(name);
  *out_.add_output() = typed(name, shape_of(form, of));
}

::onnx::ValueInfoProto OpWriter::typed(const std::string& name, const Axes& sizes) const {
  ::onnx::ValueInfoProto info;
  info.set_name(name);
  ::onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  ::onnx::TensorShapeProto& shape = *type.mutable_shape();
  shape.add_dim()->set_dim_param("batch");
  for (size_t i = 0; i < sizes.size(); ++i) {
    ::onnx::TensorShapeProto::Dimension& axis = *shape.add_dim();
    if (any_size() && i > 0) {  // of planes
      // The sides of a result follow from the image's, but inference has no name for them.
      if (graph_.find_input(name) >= 0) axis.set_dim_param(i == 1 ? "height" : "width");
    } else {
      axis.set_dim_value(sizes[i]);
    }
  }
  return info;
}

void OpWriter::declare(const std::string& name, const Axes& sizes) {
  *out_.add_value_info() = typed(name, sizes);
}

std::vector<float> OpWriter::param_of(const Node& node, size_t i) const {
  if (i >= node.params.size()) return {};
  const auto index = static_cast<size_t>(node.params[i]);
  const float* data = weights_.data(index);
  return {data, data + graph_.params[index].shape.elements()};
}

std::vector<float> OpWriter::param(size_t i) const { return param_of(*node_, i); }

std::string OpWriter::stored(size_t i) {
  return nodes_.parameter(spec(i).name, spec(i).shape.sizes(), param(i));
}

Int8Weights OpWriter::codes(size_t i) const {
  return int8_weights(weights_, static_cast<size_t>(node_->params[i]));
}

const Names& OpWriter::quantized(const std::string& value) {
  Names& names = quantized_[value];
  if (names.empty()) names = nodes_.add_several("DynamicQuantizeLinear", {value}, 3);
  return names;
}

const Node* OpWriter::folded() const {
  const int norm = folded_[node_id_];
  return norm < 0 ? nullptr : &graph_.node(norm);
}

std::string OpWriter::per_channel(Form form, const std::vector<float>& values) {
  const auto channels = static_cast<int64_t>(values.size());
  return nodes_.floats(form == Form::kPlanes ? Axes{channels, 1, 1} : Axes{channels}, values);
}

void OpWriter::fix_size() const {
  if (!any_size()) return;
  const std::string label = graph_.label(static_cast<int>(node_id_));
  fail_usage("--size any: {}{} fixes the size of the image; give --size N or HEIGHTxWIDTH",
             op_name(node_->op), label.empty() ? "" : fmt::format(" ({})", label));
}

}  // namespace vig::onnx_format
