#include "vig/torch/forward.h"

#include <algorithm>
#include <string_view>

#include "vig/base/error.h"
#include "vig/base/random.h"
#include "vig/graph/fuse.h"
#include "vig/graph/scan_path.h"
#include "vig/kernels/s4_taps.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/plain_ops.h"
#include "vig/torch/s4_taps.h"

namespace vig::train {
namespace {

// The draws of one operation for one image of the batch.
RandomStream draws_of(const ForwardOptions& options, std::string_view purpose, int64_t index,
                      int number) {
  return RandomStream(options.seed)
      .fork(purpose)
      .fork(static_cast<uint64_t>(options.image(index)))
      .fork(static_cast<uint64_t>(number));
}

// 0 with the probability `rate`, 1 / (1 - rate) otherwise.
float draw_factor(RandomStream& stream, double rate) {
  return stream.chance(rate) ? 0.0f : static_cast<float>(1.0 / (1.0 - rate));
}

// Of a branch, for each image: [batch, 1, 1, 1].
at::Tensor branch_factors(const ForwardOptions& options, int branch, double rate, int64_t batch) {
  at::Tensor factors = at::empty({batch, 1, 1, 1}, at::kFloat);
  for (int64_t i = 0; i < batch; ++i) {
    RandomStream stream = draws_of(options, "drop path", i, branch);
    factors.data_ptr<float>()[i] = draw_factor(stream, rate);
  }
  return factors;
}

// Of the channels of each image: [batch, 1, 1, channels].
at::Tensor channel_factors(const ForwardOptions& options, int number, double rate, int64_t batch,
                           int64_t channels) {
  at::Tensor factors = at::empty({batch, 1, 1, channels}, at::kFloat);
  float* to = factors.data_ptr<float>();
  for (int64_t i = 0; i < batch; ++i) {
    RandomStream stream = draws_of(options, "drop channels", i, number);
    for (int64_t c = 0; c < channels; ++c) *to++ = draw_factor(stream, rate);
  }
  return factors;
}

template <class Ops>
class ForwardPass {
 public:
  ForwardPass(const Graph& graph, const std::vector<at::Tensor>& params,
              const ForwardOptions& options)
      : graph_(graph), params_(params), options_(options) {}

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) {
    values_.assign(graph_.nodes.size(), {});
    batch_ = inputs[0].size(0);
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs[i].node] = inputs[i];
    for (const FusedNode& unit : fuse(graph_)) {
      unit_ = &unit;
      node_ = &graph_.nodes[unit.node];
      values_[unit.result] = std::visit([&](const auto& op) { return compute(op); }, node_->op);
    }
    return std::move(values_);
  }

 private:
  const at::Tensor& in(size_t i) const { return values_[node_->inputs[i]]; }
  at::Tensor param(const Node& node, size_t i) const {
    return i < node.params.size() ? params_[node.params[i]] : at::Tensor();
  }
  at::Tensor param(size_t i) const { return param(*node_, i); }
  // Of the node's value, for so many images.
  std::vector<int64_t> sizes(int64_t batch) const {
    return {batch, node_->grid.height, node_->grid.width, node_->grid.channels};
  }
  // The node fused before operand i, or null.
  const Node* producer(size_t i) const {
    return unit_->producers[i] < 0 ? nullptr : &graph_.nodes[unit_->producers[i]];
  }

  // x + branch, with stochastic depth.
  at::Tensor sum(const AddOp& op, const at::Tensor& x, const at::Tensor& branch) {
    const int number = op.residual ? branch_++ : 0;
    if (!drops(op)) return x + branch;
    return at::addcmul(x, branch,
                       branch_factors(options_, number, op.drop_rate, x.size(0)).to(x.device()));
  }
  bool drops(const AddOp& op) const { return options_.drop_branches && op.drop_rate > 0; }

  at::Tensor normalise(const Node& norm, const at::Tensor& x) const {
    const BatchNormTensors tensors{param(norm, 0), param(norm, 1), param(norm, 2), param(norm, 3)};
    const float eps = std::get<BatchNormOp>(norm.op).eps;
    if (options_.statistics == nullptr) return batch_norm(x, tensors, eps);
    return batch_norm(x, tensors, eps, options_.statistics->of(norm), options_.statistics->group());
  }

  // What is fused behind an operation, in operations of their own.
  at::Tensor finish(at::Tensor value) {
    if (unit_->norm >= 0) value = normalise(graph_.nodes[unit_->norm], value);
    if (unit_->residual >= 0) {
      const auto& op = std::get<AddOp>(graph_.nodes[unit_->sum].op);
      values_[unit_->node] = value;
      value = sum(op, values_[unit_->residual], value);
    }
    return apply_function(value);
  }
  at::Tensor apply_function(const at::Tensor& value) {
    if (unit_->swiglu) return Ops::swiglu(value);
    return unit_->function == Elementwise::kIdentity ? value
                                                     : Ops::activation(value, unit_->function);
  }

  at::Tensor compute(const InputOp&) { return values_[unit_->node]; }
  at::Tensor compute(const ConvOp& op) {
    // The weight of a layer over a whole grid has one axis for channels, lines and columns.
    at::Tensor filters = param(0);
    if (filters.dim() == 2) filters = filters.view({filters.size(0), -1, op.kernel, op.kernel});
    return finish(Ops::conv(in(0), filters, param(1), op));
  }
  at::Tensor compute(const DepthwiseConvOp& op) {
    return finish(Ops::depthwise_conv(in(0), param(0), param(1), op));
  }
  at::Tensor compute(const MaxPoolOp& op) {
    return at::max_pool2d(in(0).permute({0, 3, 1, 2}), op.kernel, op.stride, op.padding)
        .permute({0, 2, 3, 1});
  }
  // The groups of a linear layer, each of its own channels.
  at::Tensor linear(const Node& node, const at::Tensor& residual = {}) {
    const LinearOp& op = std::get<LinearOp>(node.op);
    const at::Tensor& x = values_[node.inputs[0]];
    const at::Tensor weight = param(node, 0).flatten(0, -2), bias = param(node, 1);
    const int64_t k = weight.size(1), n = weight.size(0) / op.groups;
    std::vector<at::Tensor> parts;
    for (int64_t g = 0; g < op.groups; ++g) {
      const int64_t first = op.first + g * op.group_stride;
      const at::Tensor from = k == x.size(3) ? x : x.narrow(3, first, k).contiguous();
      const auto rows = [&](const at::Tensor& t) {
        return op.groups == 1 || !t.defined() ? t : t.narrow(0, g * n, n);
      };
      const at::Tensor added = op.groups == 1 ? residual : at::Tensor();
      parts.push_back(Ops::linear(from, rows(weight), rows(bias), added));
    }
    if (op.groups == 1) return parts[0];
    const at::Tensor y = at::cat(parts, 3);
    return residual.defined() ? y + residual : y;
  }
  at::Tensor compute(const LinearOp&) {
    // Without stochastic depth the product itself adds the residual.
    if (unit_->residual >= 0 && unit_->norm < 0 && !options_.drop_branches) {
      return apply_function(linear(*node_, values_[unit_->residual]));
    }
    return finish(linear(*node_));
  }
  at::Tensor compute(const LayerNormOp& op) {
    return Ops::layer_norm(in(0), param(0), param(1), op.eps);
  }
  at::Tensor compute(const RmsNormOp& op) {
    return Ops::rms_norm(in(0), param(0), op.eps, op.groups);
  }
  at::Tensor compute(const BatchNormOp&) { return normalise(*node_, in(0)); }
  at::Tensor compute(const ActivationOp& op) { return Ops::activation(in(0), op.function); }
  at::Tensor compute(const AddOp& op) { return sum(op, in(0), in(1)); }
  at::Tensor compute(const MulOp&) { return in(0) * in(1); }
  at::Tensor compute(const ChannelGateOp&) { return in(0) * in(1); }
  at::Tensor compute(const ScaleOp&) { return Ops::scale(in(0), param(0).flatten()); }
  at::Tensor compute(const AddPositionOp& op) {
    if (op.extra.empty()) return in(0) + Ops::resize_position(param(0), op);
    // The grid's rows of the table are resized, then all rows put into the order of the sequence.
    const std::vector<int64_t> cells = sequence_cells(op);
    std::vector<int64_t> extra, order(static_cast<size_t>(node_->grid.positions()));
    for (size_t i = 0; i < cells.size(); ++i) {
      order[static_cast<size_t>(cells[i])] = static_cast<int64_t>(i);
    }
    for (const ExtraRow& row : op.extra) {
      if (row.sequence == kNoSequenceRow) continue;
      order[static_cast<size_t>(row.sequence)] = static_cast<int64_t>(cells.size() + extra.size());
      extra.push_back(row.table);
    }
    const auto rows = [](const at::Tensor& table, const std::vector<int64_t>& which) {
      return table.index_select(1, at::tensor(which, at::kLong).to(table.device()));
    };
    const at::Tensor grid = Ops::resize_position(rows(param(0), table_cells(op)), op).flatten(1, 2);
    return in(0) + rows(at::cat({grid, rows(param(0), extra)}, 1), order).view(sizes(1));
  }
  at::Tensor compute(const RotaryOp& op) {
    const at::Tensor& x = in(0);
    const auto table = [&](size_t i) {
      const AddPositionOp sizes{op.rows, op.cols, node_->grid.height, node_->grid.width, {}};
      return Ops::resize_position(param(i).unsqueeze(0), sizes);
    };
    const at::Tensor pairs = x.reshape({batch_, x.size(1), x.size(2), x.size(3) / 2, 2});
    const at::Tensor turned = at::stack({-pairs.select(4, 1), pairs.select(4, 0)}, 4).view_as(x);
    return x * table(0) + turned * table(1);
  }
  at::Tensor compute(const TokensOp&) { return param(0).unsqueeze(0).expand(sizes(batch_)); }
  at::Tensor compute(const InsertRowsOp& op) {
    const at::Tensor x = in(0).flatten(1, 2), rows = in(1).flatten(1, 2);
    return at::cat({x.narrow(1, 0, op.at), rows, x.narrow(1, op.at, x.size(1) - op.at)}, 1)
        .view(sizes(batch_));
  }
  at::Tensor compute(const SelectRowsOp& op) {
    return in(0).flatten(1, 2).narrow(1, op.first, node_->grid.positions()).reshape(sizes(batch_));
  }
  at::Tensor compute(const SwiGluOp&) { return Ops::swiglu(in(0)); }
  at::Tensor compute(const GatedMixOp&) {
    KernelOps::Mix mix;
    mix.gate = in(0);
    mix.silu = unit_->function == Elementwise::kSilu;
    // An operand with the norm that is fused before it.
    const auto take = [&](size_t i, at::Tensor& value, at::Tensor& weight) {
      const Node* norm = producer(i);
      value = norm == nullptr ? in(i) : values_[norm->inputs[0]];
      if (norm == nullptr) return;
      weight = param(*norm, 0);
      mix.eps = std::get<RmsNormOp>(norm->op).eps;
      mix.heads = std::get<RmsNormOp>(norm->op).groups;
    };
    take(1, mix.o, mix.o_weight);
    take(2, mix.local, mix.local_weight);
    return Ops::gated_mix(mix);
  }
  at::Tensor compute(const GlaOp& op) {
    const Node* product = producer(1);
    const at::Tensor gates = product == nullptr ? in(1) : linear(*product);
    if (!op.two_pass || gla_directions(op) == 1) return Ops::gla(in(0), gates, op);
    // Two scans, the second over reversed copies.
    const GlaOp causal{op.heads, op.key_dim, op.value_dim, GlaDirection::kForward};
    const int64_t keys = int64_t{op.heads} * op.key_dim, last = gates.size(3) - keys;
    const at::Tensor back =
        Ops::gla(in(0).flip({1, 2}), gates.narrow(3, last, keys).flip({1, 2}), causal);
    return (Ops::gla(in(0), gates.narrow(3, 0, keys).contiguous(), causal) + back.flip({1, 2})) / 2;
  }
  at::Tensor compute(const Conv1dOp& op) {
    return finish(Ops::conv1d(in(0), param(0), param(1), op));
  }
  at::Tensor compute(const SelectiveScanOp& op) {
    at::Tensor sum;
    for (size_t d = 0; d < op.directions.size(); ++d) {
      const ScanDirection& direction = op.directions[d];
      const auto operand = [&](int i) { return in(static_cast<size_t>(i)); };
      // Its own parameter, or its rows of the one for all.
      const auto rows = [&](size_t which) {
        if (node_->params.size() > 4) return param(3 * d + which);
        const at::Tensor all = which == 0 ? param(0) : param(which).flatten();
        const int64_t set = op.shared ? 0 : op.first_set + static_cast<int64_t>(d);
        return all.narrow(0, set * op.channels, op.channels);
      };
      KernelOps::Scan scan;
      scan.u = operand(direction.u);
      scan.steps = operand(direction.steps);
      scan.rates = operand(direction.rates);
      scan.a_log = rows(0);
      scan.d = rows(1);
      scan.bias = op.bias_factor == 1.0f ? rows(2) : rows(2) * op.bias_factor;
      if (op.moves) scan.moves = param(node_->params.size() - 1);
      scan.op = &op;
      scan.direction = d;
      scan.height = node_->grid.height;
      scan.width = node_->grid.width;
      const at::Tensor y = Ops::selective_scan(scan);
      sum = sum.defined() ? sum + y : y;
    }
    if (op.scale != 1.0f) sum = sum * op.scale;
    if (op.gate < 0) return sum;
    at::Tensor z = in(static_cast<size_t>(op.gate)).narrow(3, op.gate_first, op.channels);
    if (op.released_columns) {
      // Each result with the gate of its token.
      const ScanPath& path = op.directions[0].path;
      const auto tokens = scan_rows(path, node_->grid.height, node_->grid.width);
      const auto targets = scan_targets(op, path, node_->grid.height, node_->grid.width);
      std::vector<int64_t> order(static_cast<size_t>(node_->grid.positions()));
      for (size_t n = 0; n < targets.size(); ++n) {
        if (targets[n] >= 0) order[static_cast<size_t>(targets[n])] = tokens[n];
      }
      const at::Tensor rows = at::tensor(order, at::kLong).to(z.device());
      z = z.flatten(1, 2).index_select(1, rows).view_as(sum);
    }
    z = z.contiguous();
    return sum * Ops::activation(z, Elementwise::kSilu);
  }
  at::Tensor compute(const QShiftOp&) {
    std::vector<at::Tensor> mixes;
    for (size_t i = 0; i < node_->params.size(); ++i) mixes.push_back(param(i).flatten());
    return Ops::q_shift(in(0), at::stack(mixes));
  }
  at::Tensor compute(const BiWkvOp& op) {
    return Ops::bi_wkv(in(0), in(1), param(0), param(1), op);
  }
  at::Tensor compute(const S4ConvOp& op) {
    // The lines as sequences of their own, and back.
    const at::Tensor x = op.axis == S4Axis::kDown ? in(0).transpose(1, 2) : in(0);
    at::Tensor lines = op.axis == S4Axis::kSequence ? x.flatten(1, 2) : x.flatten(0, 1);
    lines = lines.unsqueeze(1);
    const int64_t taps = std::min<int64_t>(op.length, lines.size(2));
    const size_t first = node_->params.size() - kS4KernelParams;
    const auto own = [&](size_t i) { return param(first + i); };
    const int64_t stored = s4_kernel_length(own(6).template item<float>());
    const S4Parameters space = {own(0), own(3), own(4), own(2), own(5), own(1), stored};
    const at::Tensor rows = s4_rows(s4_taps(space, taps), first > 0 ? param(0) : at::Tensor(), op);
    if (op.channel >= 0) lines = lines.expand({-1, -1, -1, op.copies});
    at::Tensor y = Ops::long_conv(lines.contiguous(), rows, taps);
    const int64_t high = op.axis == S4Axis::kDown ? node_->grid.width : node_->grid.height;
    y = y.reshape({batch_, high, -1, node_->grid.channels});
    if (op.axis == S4Axis::kDown) y = y.transpose(1, 2).contiguous();
    return finish(y);
  }
  at::Tensor compute(const AttentionOp& op) { return Ops::attention(in(0), op); }
  at::Tensor compute(const WindowAttentionOp& op) {
    if (node_->params.empty()) {
      const int64_t rows = (2 * int64_t{op.window_height} - 1) * (2 * int64_t{op.window_width} - 1);
      const at::Tensor table = at::zeros({rows, op.heads}, in(0).options());
      return Ops::window_attention(in(0), table, at::zeros({in(0).size(3)}, in(0).options()), op);
    }
    return Ops::window_attention(in(0), param(0), param(1), op);
  }
  at::Tensor compute(const SpaceToDepthOp&) {
    const at::Tensor& x = in(0);
    const at::Tensor even = at::constant_pad_nd(x, {0, 0, 0, x.size(2) % 2, 0, x.size(1) % 2});
    const Grid& grid = node_->grid;
    return even.reshape({batch_, grid.height, 2, grid.width, 2, x.size(3)})
        .permute({0, 1, 3, 4, 2, 5})
        .reshape(sizes(batch_));
  }
  // Channels are the rows of this product.
  at::Tensor compute(const TokenLinearOp&) {
    const at::Tensor rows = in(0).flatten(1, 2).transpose(1, 2).unsqueeze(1).contiguous();
    return Ops::linear(rows, param(0), param(1)).squeeze(1).transpose(1, 2).reshape(sizes(batch_));
  }
  at::Tensor compute(const SelectChannelsOp& op) {
    return in(0).narrow(3, op.first, node_->grid.channels).contiguous();
  }
  at::Tensor compute(const MeanPoolOp&) { return in(0).mean({1, 2}, true); }
  at::Tensor compute(const AveragePoolOp& op) {
    return at::avg_pool2d(in(0).permute({0, 3, 1, 2}), {op.side, op.side})
        .permute({0, 2, 3, 1})
        .contiguous();
  }
  at::Tensor compute(const AdaptivePoolOp& op) { return Ops::adaptive_pool(in(0), op); }
  at::Tensor compute(const ResizeOp& op) {
    return finish(Ops::resize(in(0), node_->grid.height, node_->grid.width, op));
  }
  at::Tensor compute(const UpsampleConvOp&) {
    return finish(Ops::upsample_conv(in(0), param(0), param(1)));
  }
  at::Tensor compute(const ConcatChannelsOp&) {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < node_->inputs.size(); ++i) parts.push_back(in(i));
    return at::cat(parts, 3);
  }
  at::Tensor compute(const AddRowOp& op) { return in(0) + param(0).select(0, op.row); }
  at::Tensor compute(const DropChannelsOp& op) {
    const int number = channel_drops_++;
    if (!options_.drop_branches || op.rate == 0) return in(0);
    const at::Tensor& x = in(0);
    return x * channel_factors(options_, number, op.rate, batch_, x.size(3)).to(x.device());
  }
  at::Tensor compute(const DeformableOp& op) { return Ops::deformable(in(0), in(1), in(2), op); }

  const Graph& graph_;
  const std::vector<at::Tensor>& params_;
  const ForwardOptions& options_;
  std::vector<at::Tensor> values_;
  const FusedNode* unit_ = nullptr;
  const Node* node_ = nullptr;
  int64_t batch_ = 0;
  int branch_ = 0;         // residuals so far
  int channel_drops_ = 0;  // so far, too
};

}  // namespace

std::vector<at::Tensor> forward(const Graph& graph, const std::vector<at::Tensor>& params,
                                const std::vector<at::Tensor>& inputs,
                                const ForwardOptions& options) {
  if (inputs.empty() || inputs.size() != graph.inputs.size()) {
    fail("[train] {} tensors for a graph of {} inputs", inputs.size(), graph.inputs.size());
  }
  if (options.kernels && inputs[0].device().is_cpu()) {
    return ForwardPass<KernelOps>(graph, params, options).run(inputs);
  }
  return ForwardPass<PlainOps>(graph, params, options).run(inputs);
}

at::Tensor forward_logits(const Graph& graph, const std::vector<at::Tensor>& params,
                          const at::Tensor& images, const ForwardOptions& options) {
  const int node = graph.find_output("logits");
  if (node < 0) fail("[train] the network has no output \"logits\"");
  return forward(graph, params, {images}, options)[node].flatten(1);
}

}  // namespace vig::train
