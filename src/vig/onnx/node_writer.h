// Appends nodes and constants to an ONNX graph under fresh names.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vig::onnx_format {

using Names = std::vector<std::string>;
using Axes = std::vector<int64_t>;

struct Attribute {
  const char* name;
  std::variant<int64_t, float, std::string, Axes, const ::onnx::GraphProto*> value;
};
using Attributes = std::vector<Attribute>;

class NodeWriter {
 public:
  explicit NodeWriter(::onnx::GraphProto& graph) : graph_(graph) {}

  // What the names of the nodes that follow begin with.
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // A name that no other value has, made from this one.
  std::string fresh(const char* type);

  // A node of this type; gives the name of its output, or the names of its `outputs`.
  std::string add(const char* type, const Names& inputs, const Attributes& attributes = {});
  Names add_several(const char* type, const Names& inputs, size_t outputs,
                    const Attributes& attributes = {});
  ::onnx::NodeProto& last() { return *graph_.mutable_node(graph_.node_size() - 1); }

  // Constants. Equal ones are stored once.
  std::string floats(const Axes& shape, const std::vector<float>& values);
  std::string scalar(float value) { return floats({}, {value}); }
  std::string integers(const Axes& values);
  // A parameter under its own name, stored once. Operations that share it may need other values of
  // it, as for grids of other sizes: those are stored under names of their own.
  std::string parameter(const std::string& name, const Axes& shape,
                        const std::vector<float>& values);
  std::string parameter(const std::string& name, const Axes& shape,
                        const std::vector<int8_t>& values);

  // ---- nodes with constant operands ----

  std::string reshape(const std::string& x, const Axes& shape);
  std::string transpose(const std::string& x, const Axes& order);
  // Indices [first, last) along an axis.
  std::string slice(const std::string& x, int64_t axis, int64_t first, int64_t last);
  // These indices along an axis.
  std::string gather(const std::string& x, int64_t axis, const Axes& indices);
  Names split(const std::string& x, int64_t axis, const Axes& sizes);
  // Zeros before the first and behind the last index of each axis: all `before`, then all `behind`.
  std::string pad(const std::string& x, const Axes& before, const Axes& behind);
  std::string concat(const Names& parts, int64_t axis);
  std::string sum_over(const std::string& x, const Axes& axes, bool keep = false);
  std::string unsqueeze(const std::string& x, const Axes& axes);

  std::string mul(const std::string& a, const std::string& b) { return add("Mul", {a, b}); }
  std::string plus(const std::string& a, const std::string& b) { return add("Add", {a, b}); }
  std::string minus(const std::string& a, const std::string& b) { return add("Sub", {a, b}); }
  std::string product(const std::string& a, const std::string& b) { return add("MatMul", {a, b}); }

  // log(1 + e^x) that overflows nowhere.
  std::string softplus(const std::string& x);
  // log(1 / (1 + e^-x)), too.
  std::string log_sigmoid(const std::string& x);

 private:
  ::onnx::TensorProto& initializer(const std::string& name, const Axes& shape, int type);
  std::string store_once(const std::string& name, const Axes& shape, int type,
                         std::string_view bytes);
  // The name of a constant with these bytes, and whether it is a new one.
  std::pair<std::string, bool> constant(const char* kind, const Axes& shape, const void* data,
                                        size_t bytes);

  ::onnx::GraphProto& graph_;
  std::string scope_;
  int64_t count_ = 0;
  std::map<std::string, std::string> constants_;  // name by shape and bytes
  std::map<std::string, int> parameters_;         // number of the initializer by name
};

}  // namespace vig::onnx_format
