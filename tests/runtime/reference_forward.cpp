#include "runtime/reference_forward.h"

#include <algorithm>
#include <cmath>

#include "runtime/kernel_grids.h"
#include "runtime/reference_layers.h"
#include "vig/graph/scan_path.h"
#include "vig/kernels/reference/attention.h"
#include "vig/kernels/reference/conv.h"
#include "vig/kernels/reference/conv1d.h"
#include "vig/kernels/reference/conv_dense.h"
#include "vig/kernels/reference/deformable.h"
#include "vig/kernels/reference/gemm.h"
#include "vig/kernels/reference/gla.h"
#include "vig/kernels/reference/map_resize.h"
#include "vig/kernels/reference/norm.h"
#include "vig/kernels/reference/pointwise.h"
#include "vig/kernels/reference/pool.h"
#include "vig/kernels/reference/position.h"
#include "vig/kernels/reference/q_shift.h"
#include "vig/kernels/reference/rotary.h"
#include "vig/kernels/reference/selective_scan.h"
#include "vig/kernels/reference/upsample_conv.h"
#include "vig/kernels/reference/wkv.h"

namespace vig::test {
namespace {

using Values = std::vector<float>;

class ReferenceForward {
 public:
  ReferenceForward(const Graph& graph, const Weights& weights, const Precision& precision)
      : graph_(graph), weights_(weights), precision_(precision) {}

  std::vector<Values> run(const Values& inputs) {
    next_input_ = inputs.begin();
    for (const Node& node : graph_.nodes) values_.push_back(compute_node(node));
    return std::move(values_);
  }
  Values run_one(int node, std::vector<Values> values) {
    values_ = std::move(values);
    return compute_node(graph_.node(node));
  }

 private:
  Values compute_node(const Node& node) {
    node_ = &node;
    out_.assign(static_cast<size_t>(node.grid.elements()), 0.0f);
    if (uses_int8(precision_, graph_, node)) {
      compute_int8();
    } else {
      std::visit([this](const auto& op) { compute(op); }, node.op);
    }
    return std::move(out_);
  }

  const Values& in(size_t i) const { return values_[static_cast<size_t>(node_->inputs[i])]; }
  const Grid& in_grid(size_t i) const { return graph_.node(node_->inputs[i]).grid; }
  const float* param(size_t i) const {
    return i < node_->params.size() ? weights_.data(static_cast<size_t>(node_->params[i]))
                                    : nullptr;
  }
  Rows rows(size_t i) const { return {in(i).data(), in_grid(i).channels}; }

  void compute(const InputOp&) {
    std::copy_n(next_input_, out_.size(), out_.begin());
    next_input_ += static_cast<std::ptrdiff_t>(out_.size());
  }

  // Columns [first, first + n) of the result: columns of `a` times weight [n, k].
  void product(const float* a, int64_t lda, int64_t k, const float* weight, int64_t first,
               int64_t n) {
    GemmArgs args;
    args.a = a;
    args.lda = lda;
    args.rows = node_->grid.positions();
    args.weight.n = n;
    args.weight.k = k;
    args.c = out_.data() + first;
    args.ldc = node_->grid.channels;
    reference::gemm(weight, param(1) == nullptr ? nullptr : param(1) + first, args);
  }

  void compute_int8() {
    const auto* conv = std::get_if<ConvOp>(&node_->op);
    const auto* linear = std::get_if<LinearOp>(&node_->op);
    Int8Layer layer{in(0).data(), conv_grid(), {}, 0, in_grid(0).channels, node_->grid.channels};
    layer.windows = {1, 1, 0, 0, node_->grid.height, node_->grid.width};
    if (conv != nullptr) layer.windows = windows(*conv);
    if (linear != nullptr) {
      layer.first = linear->first;
      layer.read = graph_.params[node_->params[0]].shape[-1];
    }
    layer.weight = param(0);
    layer.bias = param(1);
    reference_int8(layer, out_.data());
  }

  void compute(const LinearOp& op) {
    const int64_t k = graph_.params[node_->params[0]].shape[-1], n = node_->grid.channels;
    for (int64_t g = 0; g < op.groups; ++g) {
      const int64_t rows = n / op.groups;
      product(in(0).data() + op.first + g * op.group_stride, in_grid(0).channels, k,
              param(0) + g * rows * k, g * rows, rows);
    }
  }

  template <class Op>
  Windows windows(const Op& op) const {
    const Grid& from = in_grid(0);
    return {op.kernel,
            op.stride,
            window_padding(from.height, op.kernel, op.stride, op.padding),
            window_padding(from.width, op.kernel, op.stride, op.padding),
            node_->grid.height,
            node_->grid.width};
  }
  ConvGrid conv_grid() const { return {in_grid(0).height, in_grid(0).width, in_grid(0).channels}; }

  void compute(const ConvOp& op) {
    DenseConvArgs args;
    args.shape = {conv_grid(), windows(op), node_->grid.channels, op.groups};
    args.in = in(0).data();
    args.last_row = node_->grid.positions();
    args.out = out_.data();
    args.out_stride = node_->grid.channels;
    reference::dense_conv(param(0), param(1), args);
  }

  void compute(const DepthwiseConvOp& op) {
    DepthwiseConvArgs args;
    args.in = in(0).data();
    args.grid = conv_grid();
    args.windows = windows(op);
    args.bias = param(1);
    args.last_row = node_->grid.positions();
    args.out = out_.data();
    args.out_stride = node_->grid.channels;
    reference::depthwise_conv(param(0), args);
  }

  void compute(const AveragePoolOp& op) {
    reference_average_pool(op, {in(0).data(), in_grid(0)}, node_->grid, out_.data());
  }

  void compute(const AdaptivePoolOp& op) {
    const int64_t channels = node_->grid.channels;
    reference::pool_cells({in(0).data(), channels, conv_grid(), op.cells, out_.data(), channels});
  }

  void compute(const ResizeOp& op) {
    const Grid &from = in_grid(0), &to = node_->grid;
    const auto make =
        op.resampling == Resampling::kBilinear ? MapGrids::bilinear : MapGrids::nearest;
    const MapGrids grids = make(from.height, from.width, to.height, to.width);
    MapResizeArgs args;
    args.grids = &grids;
    args.in = in(0).data();
    args.in_stride = args.channels = args.out_stride = to.channels;
    args.last_row = to.positions();
    args.out = out_.data();
    reference::map_resize(args);
  }

  void compute(const UpsampleConvOp&) {
    const Grid& from = in_grid(0);
    UpsampleConvArgs args;
    args.shape = {from.height, from.width, from.channels, node_->grid.channels};
    args.in = in(0).data();
    args.in_stride = from.channels;
    args.last_row = node_->grid.positions();
    args.out = out_.data();
    args.out_stride = node_->grid.channels;
    reference::upsample_conv(param(0), param(1), args);
  }

  void compute(const ConcatChannelsOp&) {
    auto to = out_.begin();
    for (int64_t row = 0; row < node_->grid.positions(); ++row) {
      for (size_t i = 0; i < node_->inputs.size(); ++i) {
        const int64_t channels = in_grid(i).channels;
        to = std::copy_n(in(i).begin() + row * channels, channels, to);
      }
    }
  }

  void compute(const AddRowOp& op) {
    pointwise(kSum, rows(0), {param(0) + int64_t{op.row} * node_->grid.channels, 0});
  }

  void compute(const DropChannelsOp&) { out_ = in(0); }

  void compute(const DeformableOp& op) {
    const auto levels = kernel_grids(op.levels), queries = kernel_grids(op.queries);
    DeformableArgs args;
    set_grids(args, levels, queries);
    args.heads = op.heads;
    args.points = op.points;
    args.head_dim = node_->grid.channels / op.heads;
    args.values = in(0).data();
    args.values_stride = args.out_stride = node_->grid.channels;
    args.offsets = in(1).data();
    args.offsets_stride = in_grid(1).channels;
    args.logits = in(2).data();
    args.logits_stride = in_grid(2).channels;
    args.out = out_.data();
    args.last_query = node_->grid.positions();
    reference::deformable(args);
  }

  void compute(const MaxPoolOp& op) {
    MaxPoolArgs args;
    args.in = in(0).data();
    args.grid = conv_grid();
    args.windows = windows(op);
    args.last_row = node_->grid.positions();
    args.out = out_.data();
    args.out_stride = node_->grid.channels;
    reference::max_pool(args);
  }

  void compute(const BatchNormOp& op) {
    for (size_t i = 0; i < out_.size(); ++i) {
      const size_t c = i % static_cast<size_t>(node_->grid.channels);
      const double centred = static_cast<double>(in(0)[i]) - param(2)[c];
      out_[i] = static_cast<float>(centred / std::sqrt(static_cast<double>(param(3)[c]) + op.eps) *
                                       param(0)[c] +
                                   param(1)[c]);
    }
  }

  NormArgs norm(float eps, int groups) {
    NormArgs args;
    args.in = in(0).data();
    args.in_stride = args.out_stride = args.channels = node_->grid.channels;
    args.out = out_.data();
    args.rows = node_->grid.positions();
    args.eps = eps;
    args.weight = param(0);
    args.bias = param(1);
    args.groups = groups;
    return args;
  }
  void compute(const LayerNormOp& op) { reference::layer_norm(norm(op.eps, 1)); }
  void compute(const RmsNormOp& op) { reference::rms_norm(norm(op.eps, op.groups)); }

  void pointwise(Pointwise kind, Rows a, Rows b) {
    PointwiseArgs args;
    args.kind = kind;
    args.a = a;
    args.b = b;
    args.out = out_.data();
    args.out_stride = args.channels = node_->grid.channels;
    args.rows = node_->grid.positions();
    reference::pointwise(args);
  }
  void compute(const ActivationOp& op) { pointwise({op.function}, rows(0), {}); }
  void compute(const AddOp&) { pointwise(kSum, rows(0), rows(1)); }
  void compute(const MulOp&) { pointwise(kProduct, rows(0), rows(1)); }
  void compute(const ChannelGateOp&) { pointwise(kProduct, rows(0), {in(1).data(), 0}); }
  void compute(const ScaleOp&) { pointwise(kProduct, rows(0), {param(0), 0}); }
  void compute(const SwiGluOp&) {
    const Rows both = rows(0);
    pointwise(kSwiGlu, both, {both.data + node_->grid.channels, both.stride});
  }

  // Rows of a table or a sequence that are no extra ones, in order.
  static std::vector<int64_t> grid_rows(int64_t count, const std::vector<ExtraRow>& extra,
                                        int ExtraRow::*place) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < count; ++row) {
      const bool taken = std::any_of(extra.begin(), extra.end(),
                                     [&](const ExtraRow& other) { return other.*place == row; });
      if (!taken) rows.push_back(row);
    }
    return rows;
  }

  void compute(const AddPositionOp& op) {
    const int64_t channels = node_->grid.channels;
    const auto extra = static_cast<int64_t>(op.extra.size());
    const auto from = grid_rows(int64_t{op.rows} * op.cols + extra, op.extra, &ExtraRow::table);
    const auto to = grid_rows(node_->grid.positions(), op.extra, &ExtraRow::sequence);
    Values grid(from.size() * static_cast<size_t>(channels));
    Values resized(to.size() * static_cast<size_t>(channels)), table(out_.size());
    const auto copy = [&](const float* source, int64_t row, Values& target, int64_t at) {
      if (at == kNoSequenceRow) return;
      std::copy_n(source + row * channels, channels, target.begin() + at * channels);
    };
    for (size_t i = 0; i < from.size(); ++i) copy(param(0), from[i], grid, static_cast<int64_t>(i));
    reference::resize_positions(
        {grid.data(), op.rows, op.cols, channels, resized.data(), op.height, op.width});
    for (size_t i = 0; i < to.size(); ++i)
      copy(resized.data(), static_cast<int64_t>(i), table, to[i]);
    for (const ExtraRow& row : op.extra) copy(param(0), row.table, table, row.sequence);
    pointwise(kSum, rows(0), {table.data(), channels});
  }

  void compute(const RotaryOp& op) {
    const Grid& grid = node_->grid;
    Values cos(out_.size()), sin(out_.size()), signed_sin(out_.size());
    for (const auto& [which, table] : {std::pair(0, &cos), std::pair(1, &sin)}) {
      reference::resize_positions({param(static_cast<size_t>(which)), op.rows, op.cols,
                                   grid.channels, table->data(), grid.height, grid.width});
    }
    rotary_signs(sin.data(), grid.elements(), signed_sin.data());
    reference::rotary({in(0).data(), grid.channels, cos.data(), signed_sin.data(), grid.positions(),
                       grid.channels, out_.data(), grid.channels});
  }

  void compute(const TokensOp&) { std::copy_n(param(0), out_.size(), out_.begin()); }
  void compute(const InsertRowsOp& op) {
    out_ = in(0);
    out_.insert(out_.begin() + int64_t{op.at} * node_->grid.channels, in(1).begin(), in(1).end());
  }
  void compute(const SelectRowsOp& op) {
    std::copy_n(in(0).begin() + int64_t{op.first} * node_->grid.channels, out_.size(),
                out_.begin());
  }

  void compute(const GatedMixOp&) {
    GatedMixArgs args;
    args.gate = rows(0);
    args.o = rows(1);
    args.local = rows(2);
    args.out = out_.data();
    args.out_stride = args.channels = node_->grid.channels;
    args.rows = node_->grid.positions();
    reference::gated_mix(args);
  }

  void compute(const GlaOp& op) {
    Values alpha(in(1).size());
    PointwiseArgs decay;
    decay.kind = {Elementwise::kDecay};
    decay.a = {in(1).data(), 0};
    decay.out = alpha.data();
    decay.rows = 1;
    decay.channels = static_cast<int64_t>(alpha.size());
    reference::pointwise(decay);
    const int64_t keys = static_cast<int64_t>(op.heads) * op.key_dim;
    for (int64_t h = 0; h < op.heads; ++h) {
      GlaArgs args;
      args.tokens = node_->grid.positions();
      args.key_dim = op.key_dim;
      args.value_dim = op.value_dim;
      args.q = in(0).data() + h * op.key_dim;
      args.k = args.q + keys;
      args.v = in(0).data() + 2 * keys + h * op.value_dim;
      args.qkv_stride = in_grid(0).channels;
      args.alpha_stride = in_grid(1).channels;
      const float* first = alpha.data() + h * op.key_dim;
      if (op.direction != GlaDirection::kBackward) args.alpha_forward = first;
      if (op.direction == GlaDirection::kBackward) args.alpha_backward = first;
      if (op.direction == GlaDirection::kBoth) args.alpha_backward = first + keys;
      if (op.direction == GlaDirection::kBothShared) args.alpha_backward = first;
      args.scale =
          1.0f / std::sqrt(static_cast<float>(op.key_dim)) / static_cast<float>(gla_directions(op));
      args.o = out_.data() + h * op.value_dim;
      args.o_stride = node_->grid.channels;
      reference::gla(args);
    }
  }

  // One head over the given rows.
  AttentionArgs attention_head(int heads, int64_t head) const {
    const int64_t width = node_->grid.channels;
    AttentionArgs args;
    args.tokens = node_->grid.positions();
    args.head_dim = width / heads;
    args.q = in(0).data() + head * args.head_dim;
    args.k = args.q + width;
    args.v = args.k + width;
    args.qkv_stride = 3 * width;
    args.scale = 1.0f / std::sqrt(static_cast<float>(args.head_dim));
    return args;
  }
  void place_result(AttentionArgs& args, int64_t head) {
    args.o = out_.data() + head * args.head_dim;
    args.o_stride = node_->grid.channels;
  }

  void compute(const AttentionOp& op) {
    for (int64_t head = 0; head < op.heads; ++head) {
      AttentionArgs args = attention_head(op.heads, head);
      place_result(args, head);
      reference::attention(args);
    }
  }

  // From the definition: which window a token falls into after the roll, and in which of the parts
  // that the roll makes of an axis it lies.
  void compute(const WindowAttentionOp& op) {
    const Grid& grid = node_->grid;
    const int wh = op.window_height, ww = op.window_width;
    const int shift_y = op.shifted && grid.height > wh ? wh / 2 : 0;
    const int shift_x = op.shifted && grid.width > ww ? ww / 2 : 0;
    const int padded_height = (grid.height + wh - 1) / wh * wh;
    const int padded_width = (grid.width + ww - 1) / ww * ww;
    const int n = wh * ww;
    const auto part = [](int at, int size, int window, int shift) {
      return at < size - window ? 0 : at < size - shift ? 1 : 2;
    };
    for (int top = 0; top < padded_height; top += wh) {
      for (int left = 0; left < padded_width; left += ww) {
        std::vector<int32_t> rows, labels;
        for (int t = 0; t < n; ++t) {
          const int y = top + t / ww, x = left + t % ww;
          const bool there = y < grid.height && x < grid.width;
          const int from_y = (y + shift_y) % grid.height, from_x = (x + shift_x) % grid.width;
          rows.push_back(there ? from_y * grid.width + from_x : -1);
          labels.push_back(10 * part(y, padded_height, wh, shift_y) +
                           part(x, padded_width, ww, shift_x));
        }
        for (int64_t head = 0; head < op.heads; ++head) {
          const bool plain = node_->params.empty();
          const Values bias = reference_window_bias(op, plain ? nullptr : param(0), head);
          AttentionArgs args = attention_head(op.heads, head);
          args.tokens = n;
          args.rows = rows.data();
          args.labels = labels.data();
          args.bias = bias.data();
          args.bias_stride = n;
          const Values zeros(static_cast<size_t>(3 * grid.channels));
          args.pad_k = (plain ? zeros.data() : param(1)) + grid.channels + head * args.head_dim;
          args.pad_v = args.pad_k + grid.channels;
          place_result(args, head);
          reference::attention(args);
        }
      }
    }
  }

  void compute(const SpaceToDepthOp&) {
    const Grid &from = in_grid(0), &to = node_->grid;
    for (int64_t y = 0; y < from.height; ++y) {
      for (int64_t x = 0; x < from.width; ++x) {
        const int64_t cell = (y / 2 * to.width + x / 2) * 4 + x % 2 * 2 + y % 2;
        std::copy_n(in(0).begin() + (y * from.width + x) * from.channels, from.channels,
                    out_.begin() + cell * from.channels);
      }
    }
  }

  void compute(const TokenLinearOp&) {
    const int64_t tokens = node_->grid.positions(), channels = node_->grid.channels;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = param(1)[t];
        for (int64_t s = 0; s < tokens; ++s) {
          sum += static_cast<double>(param(0)[t * tokens + s]) *
                 in(0)[static_cast<size_t>(s * channels + c)];
        }
        out_[static_cast<size_t>(t * channels + c)] = static_cast<float>(sum);
      }
    }
  }

  void compute(const SelectChannelsOp& op) {
    const int64_t from = in_grid(0).channels, to = node_->grid.channels;
    for (int64_t row = 0; row < node_->grid.positions(); ++row) {
      std::copy_n(in(0).begin() + row * from + op.first, to, out_.begin() + row * to);
    }
  }

  void compute(const Conv1dOp& op) {
    const int64_t channels = node_->grid.channels;
    Values taps(static_cast<size_t>(op.width * channels));
    for (int64_t e = 0; e < channels; ++e) {
      for (int64_t j = 0; j < op.width; ++j) {
        taps[static_cast<size_t>(j * channels + e)] = param(0)[e * op.width + j];
      }
    }
    const auto order = scan_rows(op.path, in_grid(0).height, in_grid(0).width);
    Conv1dArgs args;
    args.channels = args.taps_stride = channels;
    args.width = op.width;
    args.in = {in(0).data() + op.first, in_grid(0).channels, order.data()};
    args.taps = taps.data();
    args.bias = param(1);
    args.last = static_cast<int64_t>(order.size());
    args.out = {out_.data(), channels, op.ordered ? nullptr : order.data()};
    reference::conv1d(args);
  }

  void compute(const SelectiveScanOp& op) {
    const Grid& grid = node_->grid;
    const bool own = node_->params.size() > 4;
    for (size_t d = 0; d < op.directions.size(); ++d) {
      const ScanDirection& direction = op.directions[d];
      const auto tokens = scan_sources(op, direction.path, grid.height, grid.width, true);
      const auto others = scan_sources(op, direction.path, grid.height, grid.width, false);
      const auto targets = scan_targets(op, direction.path, grid.height, grid.width);
      const auto steps = scan_rows(direction.path, grid.height, grid.width);
      const auto moves = scan_moves(direction.path, grid.height, grid.width);
      const auto rows = [&](int operand, int64_t first, const std::vector<int32_t>& index) {
        const auto i = static_cast<size_t>(operand);
        return Sequence{in(i).data() + first, in_grid(i).channels, index.data()};
      };
      const int64_t e =
          own || op.shared ? 0 : (op.first_set + static_cast<int64_t>(d)) * op.channels;
      const size_t set = own ? 3 * d : 0;
      Values rates(static_cast<size_t>(op.channels) * static_cast<size_t>(op.states));
      selective_scan_rates(param(set) + e * op.states, op.channels, op.states, rates.data());
      Values bias(param(set + 2) + e, param(set + 2) + e + op.channels);
      for (float& value : bias) value *= op.bias_factor;
      SelectiveScanArgs args;
      args.tokens = static_cast<int64_t>(tokens.size());
      args.channels = args.rates_stride = op.channels;
      args.states = op.states;
      args.u = rows(direction.u, direction.u_first, tokens);
      args.raw = rows(direction.steps, direction.step_first, others);
      args.b = rows(direction.rates, direction.rate_first, others);
      args.c = rows(direction.rates, direction.rate_first + op.states, others);
      if (op.moves) args.b_added = {param(node_->params.size() - 1), op.states, moves.data()};
      args.rates = rates.data();
      args.d = param(set + 1) + e;
      args.bias = bias.data();
      args.y = {out_.data(), grid.channels, targets.data()};
      args.add = scan_adds(op, d);
      if (d + 1 == op.directions.size()) {
        args.scale = op.scale;
        if (op.gate >= 0) {
          const auto i = static_cast<size_t>(op.gate);
          const int32_t* order = op.released_columns ? steps.data() : targets.data();
          args.gate = {in(i).data() + op.gate_first, in_grid(i).channels, order};
        }
      }
      reference::selective_scan(args);
    }
  }

  void compute(const QShiftOp&) {
    const Grid& from = in_grid(0);
    QShiftArgs args;
    args.in = in(0).data();
    args.in_stride = args.channels = from.channels;
    args.height = from.height;
    args.width = from.width;
    args.last_row = from.positions();
    args.mixes = static_cast<int>(node_->params.size());
    args.out_stride = node_->grid.channels;
    for (size_t n = 0; n < node_->params.size(); ++n) {
      args.mix[n] = param(n);
      args.out[n] = out_.data() + static_cast<int64_t>(n) * from.channels;
    }
    reference::q_shift_mix(args);
  }

  void compute(const BiWkvOp& op) {
    WkvArgs args;
    args.tokens = node_->grid.positions();
    args.channels = args.k_stride = args.v_stride = args.y_stride = node_->grid.channels;
    args.k = in(0).data();
    args.v = in(1).data();
    args.decay = param(0);
    args.first = param(1);
    args.released = op.released;
    args.y = out_.data();
    reference::wkv(args);
  }

  void compute(const S4ConvOp& op) {
    const S4Shapes shapes = s4_shapes(graph_, *node_);
    reference_s4(
        op, shapes, [this](size_t i) { return param(i); }, {in(0).data(), in_grid(0)}, node_->grid,
        out_.data());
  }

  void compute(const MeanPoolOp&) {
    const Grid& from = in_grid(0);
    reference::mean_rows(in(0).data(), from.channels, from.positions(), from.channels, out_.data());
  }

  const Graph& graph_;
  const Weights& weights_;
  const Precision& precision_;
  std::vector<Values> values_;
  const Node* node_ = nullptr;
  Values out_;
  Values::const_iterator next_input_;
};

}  // namespace

std::vector<std::vector<float>> reference_forward(const Graph& graph, const Weights& weights,
                                                  const std::vector<float>& inputs,
                                                  const Precision& precision) {
  return ReferenceForward(graph, weights, precision).run(inputs);
}

std::vector<float> reference_value(const Graph& graph, const Weights& weights, int node,
                                   std::vector<std::vector<float>> values,
                                   const Precision& precision) {
  return ReferenceForward(graph, weights, precision).run_one(node, std::move(values));
}

}  // namespace vig::test
