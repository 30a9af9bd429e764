#include "vig/onnx/node_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vig/base/elementwise.h"

namespace vig::onnx_format {
namespace {

void set(::onnx::NodeProto& node, const Attribute& attribute) {
  ::onnx::AttributeProto& to = *node.add_attribute();
  to.set_name(attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    to.set_type(::onnx::AttributeProto::INT);
    to.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    to.set_type(::onnx::AttributeProto::FLOAT);
    to.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    to.set_type(::onnx::AttributeProto::STRING);
    to.set_s(*text);
  } else if (const auto* integers = std::get_if<Axes>(&attribute.value)) {
    to.set_type(::onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(integers->begin(), integers->end());
  } else {
    to.set_type(::onnx::AttributeProto::GRAPH);
    *to.mutable_g() = *std::get<const ::onnx::GraphProto*>(attribute.value);
  }
}

}  // namespace

std::string NodeWriter::fresh(const char* type) {
  return fmt::format("{}{}{}_{}", scope_, scope_.empty() ? "" : "/", type, count_++);
}

std::string NodeWriter::add(const char* type, const Names& inputs, const Attributes& attributes) {
  return add_several(type, inputs, 1, attributes)[0];
}

Names NodeWriter::add_several(const char* type, const Names& inputs, size_t outputs,
                              const Attributes& attributes) {
  ::onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(type);
  node.set_name(fresh(type));
  for (const std::string& input : inputs) node.add_input(input);
  Names names;
  for (size_t i = 0; i < outputs; ++i) {
    names.push_back(outputs == 1 ? node.name() : fmt::format("{}_output_{}", node.name(), i));
    node.add_output(names.back());
  }
  for (const Attribute& attribute : attributes) set(node, attribute);
  return names;
}

::onnx::TensorProto& NodeWriter::initializer(const std::string& name, const Axes& shape, int type) {
  ::onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  return tensor;
}

std::pair<std::string, bool> NodeWriter::constant(const char* kind, const Axes& shape,
                                                  const void* data, size_t bytes) {
  std::string key = fmt::format("{}{}:", kind, fmt::join(shape, ","));
  key.append(static_cast<const char*>(data), bytes);
  const auto [found, added] = constants_.emplace(std::move(key), "");
  if (added) found->second = fmt::format("{}_{}", kind, constants_.size());
  return {found->second, added};
}

std::string NodeWriter::floats(const Axes& shape, const std::vector<float>& values) {
  const size_t bytes = values.size() * sizeof(float);
  const auto [name, added] = constant("constant", shape, values.data(), bytes);
  if (added) {
    initializer(name, shape, ::onnx::TensorProto::FLOAT).set_raw_data(values.data(), bytes);
  }
  return name;
}

std::string NodeWriter::integers(const Axes& values) {
  const size_t bytes = values.size() * sizeof(int64_t);
  const Axes shape = {static_cast<int64_t>(values.size())};
  const auto [name, added] = constant("integers", shape, values.data(), bytes);
  if (added) {
    initializer(name, shape, ::onnx::TensorProto::INT64).set_raw_data(values.data(), bytes);
  }
  return name;
}

std::string NodeWriter::parameter(const std::string& name, const Axes& shape,
                                  const std::vector<float>& values) {
  return store_once(name, shape, ::onnx::TensorProto::FLOAT,
                    {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string NodeWriter::parameter(const std::string& name, const Axes& shape,
                                  const std::vector<int8_t>& values) {
  return store_once(name, shape, ::onnx::TensorProto::INT8,
                    {reinterpret_cast<const char*>(values.data()), values.size()});
}

std::string NodeWriter::store_once(const std::string& name, const Axes& shape, int type,
                                   std::string_view bytes) {
  for (int copy = 1;; ++copy) {
    const std::string own = copy == 1 ? name : fmt::format("{}_{}", name, copy);
    const auto [found, added] = parameters_.emplace(own, graph_.initializer_size());
    if (added) {
      initializer(own, shape, type).set_raw_data(bytes.data(), bytes.size());
      return own;
    }
    const ::onnx::TensorProto& stored = graph_.initializer(found->second);
    if (stored.data_type() == type && std::ranges::equal(stored.dims(), shape) &&
        stored.raw_data() == bytes) {
      return own;
    }
  }
}

std::string NodeWriter::reshape(const std::string& x, const Axes& shape) {
  return add("Reshape", {x, integers(shape)});
}

std::string NodeWriter::transpose(const std::string& x, const Axes& order) {
  return add("Transpose", {x}, {{"perm", order}});
}

std::string NodeWriter::slice(const std::string& x, int64_t axis, int64_t first, int64_t last) {
  return add("Slice", {x, integers({first}), integers({last}), integers({axis})});
}

std::string NodeWriter::gather(const std::string& x, int64_t axis, const Axes& indices) {
  return add("Gather", {x, integers(indices)}, {{"axis", axis}});
}

Names NodeWriter::split(const std::string& x, int64_t axis, const Axes& sizes) {
  if (sizes.size() == 1) return {x};
  return add_several("Split", {x, integers(sizes)}, sizes.size(), {{"axis", axis}});
}

std::string NodeWriter::pad(const std::string& x, const Axes& before, const Axes& behind) {
  Axes both = before;
  both.insert(both.end(), behind.begin(), behind.end());
  if (std::all_of(both.begin(), both.end(), [](int64_t n) { return n == 0; })) return x;
  return add("Pad", {x, integers(both)});
}

std::string NodeWriter::concat(const Names& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : add("Concat", parts, {{"axis", axis}});
}

std::string NodeWriter::sum_over(const std::string& x, const Axes& axes, bool keep) {
  return add("ReduceSum", {x, integers(axes)}, {{"keepdims", int64_t{keep}}});
}

std::string NodeWriter::unsqueeze(const std::string& x, const Axes& axes) {
  return add("Unsqueeze", {x, integers(axes)});
}

std::string NodeWriter::softplus(const std::string& x) {
  // max(x, 0) + log(1 + e^-|x|): the exponential is at most 1.
  const std::string small = add("Exp", {add("Neg", {add("Abs", {x})})});
  return plus(add("Relu", {x}), add("Log", {plus(small, scalar(1.0f))}));
}

std::string NodeWriter::log_sigmoid(const std::string& x) {
  const std::string small = add("Exp", {add("Neg", {add("Abs", {x})})});
  return minus(add("Min", {x, scalar(0.0f)}), add("Log", {plus(small, scalar(1.0f))}));
}

}  // namespace vig::onnx_format
