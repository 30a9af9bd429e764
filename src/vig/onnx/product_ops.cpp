// Convolutions, pools and linear layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

// Weight and bias of a node after its batch norm is folded into them. Of a weight with `outputs`
// rows each row belongs to an output.
struct Weighing {
  std::string name;
  std::vector<float> weight;
  Int8Weights codes;  // instead, of an int8 layer; the norm is in the scales
  std::string bias_name;
  std::vector<float> bias;  // empty: none
};

Weighing weighing(OpWriter& to, bool int8) {
  Weighing result{to.spec(0).name, {}, {}, "", to.param(1)};
  if (int8) {
    result.codes = to.codes(0);
  } else {
    result.weight = to.param(0);
  }
  if (to.has_param(1)) result.bias_name = to.spec(1).name;
  const Node* norm = to.folded();
  if (norm == nullptr) return result;
  const auto outputs = static_cast<size_t>(to.grid().channels);
  const size_t row = result.weight.size() / outputs;
  const float eps = std::get<BatchNormOp>(norm->op).eps;
  const std::vector<float> factor = to.param_of(*norm, 0), shift = to.param_of(*norm, 1);
  const std::vector<float> mean = to.param_of(*norm, 2), variance = to.param_of(*norm, 3);
  result.bias.resize(outputs, 0.0f);
  for (size_t n = 0; n < outputs; ++n) {
    const double scale = factor[n] / std::sqrt(static_cast<double>(variance[n]) + eps);
    for (size_t i = n * row; i < (n + 1) * row; ++i) {
      result.weight[i] = static_cast<float>(scale * result.weight[i]);
    }
    if (int8) result.codes.scales[n] = static_cast<float>(scale * result.codes.scales[n]);
    result.bias[n] =
        static_cast<float>((static_cast<double>(result.bias[n]) - mean[n]) * scale + shift[n]);
  }
  result.bias_name = fmt::format("{}_norm_bias", result.name);
  result.name = fmt::format("{}_with_norm", result.name);
  return result;
}

// Where windows lie, as attributes. For any size only padding that the size does not change.
template <class Op>
Attributes windows(const Op& op, OpWriter& to) {
  Attributes attributes = {{"kernel_shape", Axes{op.kernel, op.kernel}},
                           {"strides", Axes{op.stride, op.stride}}};
  if (op.padding >= 0) {
    attributes.push_back({"pads", Axes(4, op.padding)});
  } else if (op.kernel > 1 || op.stride > 1) {
    if (op.padding == kSamePadding && to.any_size()) {
      attributes.push_back({"auto_pad", std::string("SAME_UPPER")});
      return attributes;
    }
    to.fix_size();
    Axes pads;
    const Grid &from = to.grid(0), &out = to.grid();
    const int sizes[] = {from.height, from.width}, counts[] = {out.height, out.width};
    for (int size : sizes) pads.push_back(window_padding(size, op.kernel, op.stride, op.padding));
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t end = int64_t{counts[axis] - 1} * op.stride + op.kernel;
      pads.push_back(std::max<int64_t>(0, end - sizes[axis] - pads[axis]));
    }
    attributes.push_back({"pads", pads});
  }
  return attributes;
}

template <class Op>
void write_conv(const Op& op, int64_t groups, OpWriter& to) {
  const Weighing weights = weighing(to, /*int8=*/false);
  Attributes attributes = windows(op, to);
  attributes.push_back({"group", groups});
  const int64_t channels = to.grid().channels;
  const Axes shape = {channels, to.grid(0).channels / groups, op.kernel, op.kernel};
  Names inputs = {to.planes(0), to.nodes().parameter(weights.name, shape, weights.weight)};
  if (!weights.bias.empty()) {
    inputs.push_back(to.nodes().parameter(weights.bias_name, {channels}, weights.bias));
  }
  to.give(Form::kPlanes, to.nodes().add("Conv", inputs, attributes));
}

// Rows [first, first + count) of a weight [.., inputs] as [inputs, count].
template <typename T>
std::vector<T> transposed(const std::vector<T>& weight, size_t inputs, size_t first, size_t count) {
  std::vector<T> result(count * inputs);
  for (size_t n = 0; n < count; ++n) {
    for (size_t k = 0; k < inputs; ++k) {
      result[k * count + n] = weight[(first + n) * inputs + k];
    }
  }
  return result;
}

// As dynamic quantisation, in the form that ONNX Runtime computes as one operation: the value as
// bytes, sums of their products with codes, and what these stand for in floats.
void write_int8_linear(const LinearOp& op, OpWriter& to) {
  NodeWriter& nodes = to.nodes();
  const Form form = to.form(0) == Form::kVector ? Form::kVector : Form::kRows;
  const Weighing weights = weighing(to, /*int8=*/true);
  const int64_t outputs = to.grid().channels;
  const int64_t inputs = static_cast<int64_t>(weights.codes.codes.size()) / outputs;
  std::string x = to.in(0, form);
  if (inputs != to.grid(0).channels) x = nodes.slice(x, -1, op.first, op.first + inputs);
  const std::string codes =
      nodes.parameter(fmt::format("{}_codes_transposed", to.spec(0).name), {inputs, outputs},
                      transposed(weights.codes.codes, static_cast<size_t>(inputs), 0,
                                 static_cast<size_t>(outputs)));
  const std::string scales =
      nodes.parameter(scales_name(weights.name), {outputs}, weights.codes.scales);
  const Names quantized = to.quantized(x);
  const std::string sums = nodes.add("MatMulInteger", {quantized[0], codes, quantized[2]});
  const std::string floats =
      nodes.add("Cast", {sums}, {{"to", int64_t{::onnx::TensorProto::FLOAT}}});
  std::string y = nodes.mul(floats, nodes.mul(quantized[1], scales));
  if (!weights.bias.empty()) {
    y = nodes.plus(y, nodes.parameter(weights.bias_name, {outputs}, weights.bias));
  }
  to.give(form, y);
}

void write_linear(const LinearOp& op, OpWriter& to) {
  if (to.is_int8()) return write_int8_linear(op, to);
  NodeWriter& nodes = to.nodes();
  const Form form = to.form(0) == Form::kVector ? Form::kVector : Form::kRows;
  const Weighing weights = weighing(to, /*int8=*/false);
  const int64_t outputs = to.grid().channels;
  // A weight may have more axes than two, of which a convolution's last ones are single.
  const int64_t inputs = static_cast<int64_t>(weights.weight.size()) / outputs;
  const int64_t group = outputs / op.groups;
  Names parts;
  for (int64_t g = 0; g < op.groups; ++g) {
    std::string x = to.in(0, form);
    const int64_t first = op.first + g * op.group_stride;
    if (inputs != to.grid(0).channels) x = nodes.slice(x, -1, first, first + inputs);
    const std::string name = op.groups > 1 ? fmt::format("{}_transposed_{}", weights.name, g)
                                           : fmt::format("{}_transposed", weights.name);
    const std::string matrix =
        nodes.parameter(name, {inputs, group},
                        transposed(weights.weight, static_cast<size_t>(inputs),
                                   static_cast<size_t>(g * group), static_cast<size_t>(group)));
    if (form == Form::kVector && op.groups == 1 && !weights.bias.empty()) {
      const std::string bias = nodes.parameter(weights.bias_name, {outputs}, weights.bias);
      to.give(form, nodes.add("Gemm", {x, matrix, bias}));
      return;
    }
    parts.push_back(nodes.product(x, matrix));
  }
  std::string y = nodes.concat(parts, -1);
  if (!weights.bias.empty()) {
    y = nodes.plus(y, nodes.parameter(weights.bias_name, {outputs}, weights.bias));
  }
  to.give(form, y);
}

}  // namespace

void write(const ConvOp& op, OpWriter& to) {
  // A product where the value lies in rows; a convolution where it lies in planes.
  if (is_linear(op) && to.form(0) != Form::kPlanes) {
    write_linear(LinearOp{}, to);
  } else {
    write_conv(op, op.groups, to);
  }
}

void write(const DepthwiseConvOp& op, OpWriter& to) { write_conv(op, to.grid().channels, to); }

void write(const LinearOp& op, OpWriter& to) { write_linear(op, to); }

void write(const MaxPoolOp& op, OpWriter& to) {
  to.give(Form::kPlanes, to.nodes().add("MaxPool", {to.planes(0)}, windows(op, to)));
}

void write(const MeanPoolOp&, OpWriter& to) {
  NodeWriter& nodes = to.nodes();
  if (to.form(0) == Form::kVector) return to.give_operand(0);
  if (to.form(0) == Form::kPlanes) {
    const std::string mean = nodes.add("GlobalAveragePool", {to.planes(0)});
    to.give(Form::kVector, nodes.add("Flatten", {mean}, {{"axis", int64_t{1}}}));
    return;
  }
  to.give(Form::kVector,
          nodes.add("ReduceMean", {to.rows(0)},
                    {{"axes", to.any_size() ? Axes{1, 2} : Axes{1}}, {"keepdims", int64_t{0}}}));
}

void write(const TokenLinearOp&, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const int64_t tokens = to.grid().positions();
  const std::string bias = nodes.parameter(to.spec(1).name, {tokens, 1}, to.param(1));
  to.give(Form::kRows, nodes.plus(nodes.product(to.stored(0), to.rows(0)), bias));
}

}  // namespace vig::onnx_format
