// Operations of state space models and of RWKV.
#include <cmath>

#include "vig/base/error.h"
#include "vig/graph/builder.h"
#include "vig/graph/init.h"
#include "vig/graph/scan_path.h"

namespace vig {
namespace {

// log(1 .. N) in each row: the rates of a fresh state space model.
void fill_log_counts(const FreshParam& param, float, float) {
  const auto states = static_cast<size_t>(param.shape[-1]);
  for (size_t i = 0; i < param.values.size(); ++i) {
    param.values[i] = std::log(static_cast<float>(i % states + 1));
  }
}

}  // namespace

Value Builder::linear_range(Value x, const RangeShape& shape, Init weight, Init bias) {
  Grid out = grid(x);
  const LinearOp& op = shape.range;
  const int64_t in = shape.weight_shape[-1];
  const int64_t outputs = shape.weight_shape.elements() / in;
  const int64_t end = op.first + static_cast<int64_t>(op.groups - 1) * op.group_stride + in;
  if (op.groups < 1 || op.first < 0 || op.group_stride < 0 || end > out.channels ||
      outputs % op.groups != 0) {
    fail("[linear] {} groups of {} channels from {} on, {} apart, expected them within {} ({})",
         op.groups, in, op.first, op.group_stride, out.channels, shape.weight);
  }
  out.channels = static_cast<int>(outputs);
  std::vector<int> params = {param(shape.weight, shape.weight_shape, weight)};
  if (!shape.bias.empty()) params.push_back(param(shape.bias, {outputs}, bias));
  return append(op, {x.id}, out, std::move(params));
}

Value Builder::conv1d(Value x, const std::string& name, Conv1dShape shape, Init weight, Init bias) {
  Grid out = grid(x);
  const int channels = shape.channels == 0 ? out.channels : shape.channels;
  if (shape.width < 1 || shape.first < 0 || channels < 1 || shape.first + channels > out.channels) {
    fail("[conv1d] width {} over {} channels from {} on, expected channels of {} ({})", shape.width,
         channels, shape.first, out.channels, name);
  }
  if (shape.path.order != ScanOrder::kRows && !shape.ordered) {
    fail("[conv1d] unordered results along a path, expected one row by row ({})", name);
  }
  if (shape.ordered) {
    const auto length = scan_rows(shape.path, out.height, out.width).size();
    out = {1, static_cast<int>(length), 0};
  }
  out.channels = channels;
  std::vector<int> params = {param(name + ".weight", {channels, 1, shape.width}, weight),
                             param(name + ".bias", {channels}, bias)};
  return append(Conv1dOp{shape.width, shape.first, shape.path, shape.ordered}, {x.id}, out,
                std::move(params));
}

Value Builder::selective_scan(const std::vector<Value>& operands, SelectiveScanOp op,
                              const std::vector<ScanParams>& params) {
  return selective_scan(operands, std::move(op), params, grid(operands.at(0)));
}

Value Builder::selective_scan(const std::vector<Value>& operands, SelectiveScanOp op,
                              const std::vector<ScanParams>& params, const Grid& positions) {
  const auto directions = static_cast<int64_t>(op.directions.size());
  const bool own = params.size() > 1;
  if (op.channels < 1 || op.states < 1 || directions < 1 ||
      (own ? static_cast<int64_t>(params.size()) != directions : params.empty())) {
    fail("[selective_scan] {} channels, {} states, {} directions and {} sets of parameters",
         op.channels, op.states, directions, params.size());
  }
  const auto check = [&](const char* what, int operand, int first, int channels, int64_t rows) {
    const Grid& from = grid(operands.at(static_cast<size_t>(operand)));
    if (from.positions() != rows || first < 0 || first + channels > from.channels) {
      fail("[selective_scan] {} are channels {} to {} of {} x {} x {}, expected {} positions", what,
           first, first + channels, from.height, from.width, from.channels, rows);
    }
  };
  for (const ScanDirection& direction : op.directions) {
    const ScanPath& path = direction.path;
    if (path.part < (path.order == ScanOrder::kWindows ? 1 : 0) ||
        (path.order == ScanOrder::kSubgrid && path.part > 3)) {
      fail("[selective_scan] part {} of a path, expected a window's side or a subgrid", path.part);
    }
    using Taking = SelectiveScanOp::Taking;
    int64_t rows = positions.positions();
    if (op.taking == Taking::kSequences || op.taking == Taking::kHalfGrid) {
      rows = static_cast<int64_t>(scan_rows(path, positions.height, positions.width).size());
    }
    check("values", direction.u, direction.u_first, op.channels, rows);
    check("steps", direction.steps, direction.step_first, op.channels, rows);
    check("B and C", direction.rates, direction.rate_first, 2 * op.states, rows);
  }
  if (op.gate >= 0 && op.released_columns && directions > 1) {
    fail("[selective_scan] a gate for {} directions with the released inverse, expected one",
         directions);
  }
  if (op.gate >= 0) check("gates", op.gate, op.gate_first, op.channels, positions.positions());
  std::vector<int> inputs, declared;
  for (const Value& operand : operands) inputs.push_back(operand.id);
  const int64_t sets = op.sets > 0 ? op.sets : directions;
  if (op.first_set < 0 || (!own && !op.shared && op.first_set + directions > sets)) {
    fail("[selective_scan] {} directions from set {} on, expected sets of {}", directions,
         op.first_set, sets);
  }
  const bool stacked = !own && !op.shared && sets > 1;
  const int64_t rows = stacked ? sets * op.channels : op.channels;
  for (const ScanParams& set : params) {
    declared.push_back(param(set.a_log, {rows, op.states}, {fill_log_counts}));
    graph_.params[declared.back()].decayed = false;
    declared.push_back(param(set.d, {rows}, ones_init()));
    const Shape bias = stacked ? Shape{sets, op.channels} : Shape{rows};
    declared.push_back(param(set.bias, bias, set.bias_init));
    graph_.params[declared.back()].decayed = false;
  }
  if (op.moves) declared.push_back(param(params[0].moves, {5, op.states}, normal_init(0.02f)));
  return append(std::move(op), std::move(inputs), {positions.height, positions.width, op.channels},
                std::move(declared));
}

Value Builder::s4_conv(Value x, const S4Params& params, S4ConvOp op) {
  Grid out = grid(x);
  if (op.copies < 1 || op.length < 1 || params.states < 2 || params.states % 2 != 0 ||
      params.systems < 1) {
    fail("[s4_conv] {} copies of {} taps, {} states of {} systems, expected pairs of states ({})",
         op.copies, op.length, params.states, params.systems, params.kernel);
  }
  const int64_t channels = params.channels > 0 ? params.channels : out.channels;
  const bool one = op.channel >= 0;
  if (one ? op.channel >= channels || (out.channels != 1 && out.channels != op.copies) ||
                !params.d.empty()
          : channels != out.channels || (op.axis != S4Axis::kSequence && op.copies > 1)) {
    fail(
        "[s4_conv] channel {} of {} for {} channels, expected one of them for 1 or {}, without D "
        "({})",
        op.channel, channels, out.channels, op.copies, params.kernel);
  }
  const int64_t pairs = params.states / 2, systems = params.systems;
  const std::string name = params.kernel + ".";
  const Shape vectors{1, systems, pairs, 2};
  // Real and imaginary parts of variance 1/2.
  const Init c_init = normal_init(std::sqrt(0.5f));
  std::vector<int> declared;
  if (!params.d.empty()) {
    declared.push_back(param(params.d, {op.copies, channels}, normal_init(1.0f)));
  }
  const std::vector<int> kernel = {
      param(name + "inv_dt", {channels, 1}, params.inv_dt),
      param(name + "C", {2 * op.copies, channels, pairs, 2}, c_init),
      param(name + "B", vectors, params.b),
      param(name + "A_real", {systems, pairs}, params.a_real),
      param(name + "A_imag", {systems, pairs}, params.a_imag),
      param(name + "P", vectors, params.p),
      param(name + "l_kernel", Shape{}, {}),
  };
  // The state space and its step size learn without weight decay, C and D with it.
  for (const size_t i : {0, 2, 3, 4, 5}) graph_.params[kernel[i]].decayed = false;
  graph_.params[kernel.back()].trained = false;
  declared.insert(declared.end(), kernel.begin(), kernel.end());
  out.channels = one ? op.copies : op.copies * out.channels;
  return append(op, {x.id}, out, std::move(declared));
}

Value Builder::q_shift(Value x, const std::vector<Mix>& mixes) {
  Grid out = grid(x);
  if (mixes.empty() || mixes.size() > 3) fail("[q_shift] {} mixes, expected 1 to 3", mixes.size());
  std::vector<int> params;
  for (const Mix& mix : mixes) params.push_back(param(mix.name, {1, 1, out.channels}, mix.init));
  out.channels *= static_cast<int>(mixes.size());
  return append(QShiftOp{}, {x.id}, out, std::move(params));
}

Value Builder::bi_wkv(Value k, Value v, const WkvParams& params, BiWkvOp op) {
  const Grid in = grid(k);
  if (in != grid(v)) {
    fail("[bi_wkv] keys are {} x {} x {}, expected the grid of the values", in.height, in.width,
         in.channels);
  }
  const int decay = param(params.decay, {in.channels}, params.decay_init);
  const int first = param(params.first, {in.channels}, params.first_init);
  return append(op, {k.id, v.id}, in, {decay, first});
}

}  // namespace vig
