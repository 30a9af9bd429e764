// Elementwise operations, and norms.
#include <cmath>
#include <numbers>

#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

std::string silu(NodeWriter& nodes, const std::string& x) {
  return nodes.mul(x, nodes.add("Sigmoid", {x}));
}

// In the order of terms that runtimes recognise as one function.
std::string gelu(NodeWriter& nodes, const std::string& x) {
  const std::string scaled = nodes.add("Div", {x, nodes.scalar(std::numbers::sqrt2_v<float>)});
  const std::string raised = nodes.plus(nodes.add("Erf", {scaled}), nodes.scalar(1.0f));
  return nodes.mul(nodes.mul(x, raised), nodes.scalar(0.5f));
}

std::string apply(NodeWriter& nodes, Elementwise function, const std::string& x) {
  switch (function) {
    case Elementwise::kIdentity:
      return x;
    case Elementwise::kRelu:
      return nodes.add("Relu", {x});
    case Elementwise::kRelu2: {
      const std::string positive = nodes.add("Relu", {x});
      return nodes.mul(positive, positive);
    }
    case Elementwise::kSilu:
      return silu(nodes, x);
    case Elementwise::kGelu:
      return gelu(nodes, x);
    case Elementwise::kSigmoid:
      return nodes.add("Sigmoid", {x});
    case Elementwise::kDecay:
      return nodes.add("Exp", {nodes.mul(nodes.log_sigmoid(x), nodes.scalar(1.0f / 16.0f))});
  }
  return x;
}

// The form for norms over channels, which are the last axis.
Form last_form(const OpWriter& to) {
  return to.form(0) == Form::kVector ? Form::kVector : Form::kRows;
}

}  // namespace

void write(const ActivationOp& op, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, apply(to.nodes(), op.function, to.in(0, form)));
}

void write(const AddOp&, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, to.nodes().plus(to.in(0, form), to.in(1, form)));
}

void write(const MulOp&, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, to.nodes().mul(to.in(0, form), to.in(1, form)));
}

void write(const ChannelGateOp&, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, to.nodes().mul(to.in(0, form), to.in(1, form)));
}

void write(const ScaleOp&, OpWriter& to) {
  const Form form = to.form(0);
  to.give(form, to.nodes().mul(to.in(0, form), to.per_channel(form, to.param(0))));
}

void write(const SwiGluOp&, OpWriter& to) {
  const Form form = to.form(0);
  const int64_t half = to.grid().channels;
  const Names halves = to.nodes().split(to.in(0, form), to.channel_axis(form), {half, half});
  to.give(form, to.nodes().mul(silu(to.nodes(), halves[0]), halves[1]));
}

void write(const GatedMixOp&, OpWriter& to) {
  NodeWriter& nodes = to.nodes();
  const Form form = to.form(1);
  const std::string a = to.in(1, form), b = to.in(2, form);
  const std::string gate = nodes.add("Sigmoid", {to.in(0, form)});
  to.give(form, nodes.plus(b, nodes.mul(gate, nodes.minus(a, b))));
}

void write(const LayerNormOp& op, OpWriter& to) {
  const Form form = last_form(to);
  to.give(form, to.nodes().add("LayerNormalization", {to.in(0, form), to.stored(0), to.stored(1)},
                               {{"axis", int64_t{-1}}, {"epsilon", op.eps}}));
}

void write(const RmsNormOp& op, OpWriter& to) {
  NodeWriter& nodes = to.nodes();
  const Form form = last_form(to);
  const int64_t channels = to.grid().channels;
  std::string x = to.in(0, form);
  Axes shape = form == Form::kVector ? Axes{0} : to.any_size() ? Axes{0, 0, 0} : Axes{0, 0};
  Axes parts = shape;
  shape.push_back(channels);
  parts.insert(parts.end(), {op.groups, channels / op.groups});
  if (op.groups > 1) x = nodes.reshape(x, parts);
  const std::string square = nodes.add("Pow", {x, nodes.scalar(2.0f)});
  const std::string mean =
      nodes.add("ReduceMean", {square}, {{"axes", Axes{-1}}, {"keepdims", int64_t{1}}});
  const std::string root = nodes.add("Sqrt", {nodes.plus(mean, nodes.scalar(op.eps))});
  std::string y = nodes.mul(nodes.add("Div", {x, root}), to.stored(0));
  if (op.groups > 1) y = nodes.reshape(y, shape);
  to.give(form, y);
}

void write(const BatchNormOp& op, OpWriter& to) {
  if (to.is_folded()) {
    to.give_operand(0);
    return;
  }
  const Form form = to.form(0);
  std::vector<float> factor = to.param(0), shift = to.param(1);
  const std::vector<float> mean = to.param(2), variance = to.param(3);
  for (size_t c = 0; c < factor.size(); ++c) {
    const double exact = factor[c] / std::sqrt(static_cast<double>(variance[c]) + op.eps);
    factor[c] = static_cast<float>(exact);
    shift[c] = static_cast<float>(shift[c] - exact * mean[c]);
  }
  const std::string scaled = to.nodes().mul(to.in(0, form), to.per_channel(form, factor));
  to.give(form, to.nodes().plus(scaled, to.per_channel(form, shift)));
}

}  // namespace vig::onnx_format
