#include "onnx/evaluator.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "onnx/onnx_operators.h"
#include "onnx/onnx_tensor.h"

namespace vig::test {
namespace {

using ::onnx::NodeProto;

class Evaluation {
 public:
  Evaluation(const ::onnx::GraphProto& graph, const Evaluation* around)
      : graph_(graph), around_(around) {
    for (const ::onnx::TensorProto& tensor : graph.initializer()) {
      values_[tensor.name()] = stored_tensor(tensor);
    }
  }
  void set(const std::string& name, Tensor value) { values_[name] = std::move(value); }
  const Tensor& get(const std::string& name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    if (around_ == nullptr) throw std::runtime_error("there is no value " + name);
    return around_->get(name);
  }
  void run() {
    for (const NodeProto& node : graph_.node()) {
      const std::vector<Tensor> results = execute(node);
      for (int i = 0; i < node.output_size(); ++i) {
        values_[node.output(i)] = results.at(static_cast<size_t>(i));
      }
    }
  }

 private:
  std::vector<Tensor> execute(const NodeProto& node) const;
  std::vector<Tensor> scan(const NodeProto& node) const;

  const ::onnx::GraphProto& graph_;
  const Evaluation* around_;
  std::map<std::string, Tensor> values_;
};

std::vector<Tensor> Evaluation::scan(const NodeProto& node) const {
  const ::onnx::GraphProto& body = OnnxAttributes(node).graph("body");
  const auto sequences = static_cast<int>(OnnxAttributes(node).number("num_scan_inputs", 0));
  const int states = node.input_size() - sequences;
  std::vector<Tensor> carried;
  for (int i = 0; i < states; ++i) carried.push_back(get(node.input(i)));
  std::vector<Tensor> collected(static_cast<size_t>(node.output_size() - states));
  const int64_t tokens = get(node.input(states)).dims[0];
  Evaluation inside(body, this);
  for (int64_t token = 0; token < tokens; ++token) {
    for (int i = 0; i < states; ++i)
      inside.set(body.input(i).name(), carried[static_cast<size_t>(i)]);
    for (int i = states; i < node.input_size(); ++i) {
      const Tensor& all = get(node.input(i));
      inside.set(body.input(i).name(), row_of(all, token));
    }
    inside.run();
    for (int i = 0; i < body.output_size(); ++i) {
      const Tensor& value = inside.get(body.output(i).name());
      if (i < states) {
        carried[static_cast<size_t>(i)] = value;
      } else {
        append_row(collected[static_cast<size_t>(i - states)], value);
      }
    }
  }
  carried.insert(carried.end(), collected.begin(), collected.end());
  return carried;
}

using Function = double (*)(double);
const std::map<std::string, Function> kFunctions = {
    {"Identity", [](double x) { return x; }},
    {"Cast", [](double x) { return x; }},  // to floats
    {"Neg", [](double x) { return -x; }},
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}};

using Operator = double (*)(double, double);
const std::map<std::string, Operator> kOperators = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
    {"Min", [](double a, double b) { return std::min(a, b); }}};

std::vector<Tensor> Evaluation::execute(const NodeProto& node) const {
  const std::string& type = node.op_type();
  if (type == "Scan") return scan(node);
  const OnnxAttributes of(node);
  std::vector<Tensor> in;
  for (const std::string& name : node.input()) in.push_back(name.empty() ? Tensor() : get(name));
  const auto whole = [&](size_t i) { return Dims(in[i].values.begin(), in[i].values.end()); };
  if (const auto found = kFunctions.find(type); found != kFunctions.end()) {
    for (double& value : in[0].values) value = found->second(value);
    return {in[0]};
  }
  if (const auto found = kOperators.find(type); found != kOperators.end()) {
    Tensor result = in[0];
    for (size_t i = 1; i < in.size(); ++i) result = combined(result, in[i], found->second);
    return {result};
  }
  const bool keep = of.number("keepdims", 1) != 0;
  if (type == "LinearAttention") return linear_attention(of, in);
  if (type == "MatMul") return {product(in[0], in[1])};
  if (type == "DynamicQuantizeLinear") return dynamic_quantize(in[0]);
  if (type == "MatMulInteger") {
    return {product(combined(in[0], in[2], kOperators.at("Sub")), in[1])};
  }
  if (type == "Gemm") return {combined(product(in[0], in[1]), in[2], kOperators.at("Add"))};
  if (type == "Conv") return {conv(of, in[0], in[1], in.size() > 2 ? &in[2] : nullptr)};
  if (type == "ConvTranspose") return {conv_transpose(of, in[0], in[1], in[2])};
  if (type == "MaxPool") return {max_pool(of, in[0])};
  if (type == "GlobalAveragePool") return {reduced(in[0], {2, 3}, true, Reduction::kMean)};
  if (type == "ReduceMean")
    return {reduced(in[0], of.integers("axes", {}), keep, Reduction::kMean)};
  if (type == "ReduceMax") return {reduced(in[0], of.integers("axes", {}), keep, Reduction::kMax)};
  if (type == "ReduceSum") return {reduced(in[0], whole(1), keep, Reduction::kSum)};
  if (type == "LayerNormalization") return {layer_norm(of, in[0], in[1], in[2])};
  if (type == "Softmax" && of.number("axis", -1) == -1) return {softmax(in[0])};
  if (type == "Flatten" && of.number("axis", 1) == 1) return {reshaped(in[0], {0, -1})};
  if (type == "Reshape") return {reshaped(in[0], whole(1))};
  if (type == "Squeeze") return {squeezed(in[0], whole(1))};
  if (type == "Unsqueeze") return {unsqueezed(in[0], whole(1))};
  if (type == "Transpose") return {transposed(in[0], of.integers("perm", {}))};
  if (type == "Expand") return {expanded(in[0], whole(1))};
  if (type == "Concat") return {concatenated(in, of.number("axis", 0))};
  if (type == "Split") return split(in[0], of.number("axis", 0), whole(1));
  if (type == "Gather") return {gathered(in[0], of.number("axis", 0), whole(1))};
  if (type == "Pad") return {padded(in[0], whole(1))};
  if (type == "Slice") {
    return {sliced(in[0], whole(1), whole(2), whole(3),
                   in.size() > 4 ? whole(4) : Dims(in[1].values.size(), 1))};
  }
  if (type == "Shape") {
    const auto begin = static_cast<size_t>(of.number("start", 0));
    const auto end = static_cast<size_t>(of.number("end", static_cast<int64_t>(in[0].dims.size())));
    Tensor result({static_cast<int64_t>(end - begin)});
    for (size_t i = begin; i < end; ++i) {
      result.values[i - begin] = static_cast<double>(in[0].dims[i]);
    }
    return {result};
  }
  if (type == "Resize") return {resize(of, in[0], whole(3))};
  if (type == "GridSample") return {grid_sample(of, in[0], in[1])};
  throw std::runtime_error("the operator " + type + " is none that vig writes");
}

}  // namespace

std::vector<float> evaluate_onnx(const std::string& bytes,
                                 const std::map<std::string, OnnxInput>& inputs) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) throw std::runtime_error("no ONNX file");
  Evaluation evaluation(model.graph(), nullptr);
  for (const auto& [name, input] : inputs) {
    Tensor tensor(input.dims);
    std::copy(input.values.begin(), input.values.end(), tensor.values.begin());
    evaluation.set(name, std::move(tensor));
  }
  evaluation.run();
  const Tensor& result = evaluation.get(model.graph().output(0).name());
  return {result.values.begin(), result.values.end()};
}

}  // namespace vig::test
