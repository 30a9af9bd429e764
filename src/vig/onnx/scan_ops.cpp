// Causal convolutions along paths, and the selective scan, whose recurrence is ONNX's Scan.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "vig/graph/scan_path.h"
#include "vig/onnx/ops.h"
#include "vig/onnx/scan_body.h"

namespace vig::onnx_format {
namespace {

// Rows of x in this order; -1 is a row of zeros.
std::string take_rows(NodeWriter& nodes, const std::string& x, const std::vector<int32_t>& order,
                      int64_t rows) {
  Axes indices(order.begin(), order.end());
  Axes same(static_cast<size_t>(rows));
  std::iota(same.begin(), same.end(), 0);
  if (indices == same) return x;
  const bool padded = std::find(indices.begin(), indices.end(), -1) != indices.end();
  std::replace(indices.begin(), indices.end(), int64_t{-1}, rows);
  return nodes.gather(padded ? nodes.pad(x, {0, 0, 0}, {0, 1, 0}) : x, 1, indices);
}

// The index of the path that ends at each of `rows` positions; -1 for none.
std::vector<int32_t> inverse(const std::vector<int32_t>& targets, int64_t rows) {
  std::vector<int32_t> indices(static_cast<size_t>(rows), -1);
  for (size_t n = 0; n < targets.size(); ++n) {
    if (targets[n] >= 0) indices[static_cast<size_t>(targets[n])] = static_cast<int32_t>(n);
  }
  return indices;
}

class SelectiveScanWriter {
 public:
  SelectiveScanWriter(const SelectiveScanOp& op, OpWriter& to)
      : op_(op), to_(to), nodes_(to.nodes()) {}

  void run() {
    // Directions of equal length are scanned as one.
    std::map<size_t, std::vector<size_t>> by_length;
    for (size_t d = 0; d < op_.directions.size(); ++d) by_length[targets(d).size()].push_back(d);
    std::string sum;
    for (const auto& [length, members] : by_length) {
      const std::string y = scan(members);  // [D, B, tokens, E]
      const Names parts = nodes_.split(y, 0, Axes(members.size(), 1));
      for (size_t i = 0; i < members.size(); ++i) {
        const std::string own = nodes_.add("Squeeze", {parts[i], nodes_.integers({0})});
        const int64_t positions = to_.grid().positions();
        const std::string placed = take_rows(nodes_, own, inverse(targets(members[i]), positions),
                                             static_cast<int64_t>(length));
        sum = sum.empty() ? placed : nodes_.plus(sum, placed);
      }
    }
    if (op_.scale != 1.0f) sum = nodes_.mul(sum, nodes_.scalar(op_.scale));
    if (op_.gate >= 0) {
      const std::string z = gate();
      sum = nodes_.mul(sum, nodes_.mul(z, nodes_.add("Sigmoid", {z})));
    }
    to_.give(Form::kRows, sum);
  }

 private:
  std::vector<int32_t> targets(size_t d) const {
    return scan_targets(op_, op_.directions[d].path, to_.grid().height, to_.grid().width);
  }
  std::vector<int32_t> sources(size_t d, bool of_u) const {
    return scan_sources(op_, op_.directions[d].path, to_.grid().height, to_.grid().width, of_u);
  }

  std::string channels(int operand, int64_t first, int64_t count) {
    const auto i = static_cast<size_t>(operand);
    const std::string x = to_.rows(i);
    if (first == 0 && count == to_.grid(i).channels) return x;
    return nodes_.slice(x, 2, first, first + count);
  }

  // z of every position; where columns go to the positions of a released inverse, z goes with its
  // token.
  std::string gate() {
    const std::string z = channels(op_.gate, op_.gate_first, op_.channels);
    if (!op_.released_columns) return z;
    const auto tokens = scan_rows(op_.directions[0].path, to_.grid().height, to_.grid().width);
    std::vector<int32_t> order = inverse(targets(0), to_.grid().positions());
    for (int32_t& index : order) index = index < 0 ? -1 : tokens[static_cast<size_t>(index)];
    return take_rows(nodes_, z, order, to_.grid().positions());
  }

  // Channels of an operand in the order of each direction: [tokens, B, D, count].
  template <class Operand>
  std::string sequences(const std::vector<size_t>& members, int64_t count, bool of_u,
                        const Operand& operand) {
    Names parts;
    for (const size_t d : members) {
      const auto [index, first] = operand(op_.directions[d]);
      const std::string x = channels(index, first, count);
      const int64_t rows = to_.grid(static_cast<size_t>(index)).positions();
      parts.push_back(nodes_.unsqueeze(take_rows(nodes_, x, sources(d, of_u), rows), {2}));
    }
    return nodes_.transpose(nodes_.concat(parts, 2), {1, 0, 2, 3});
  }

  // Values of parameter `which` (A_log, D, bias) for each member, `each` of them.
  std::vector<float> params(const std::vector<size_t>& members, size_t which, int64_t each) const {
    const bool own = to_.params() > 4;
    std::vector<float> result;
    for (const size_t d : members) {
      const std::vector<float> all = to_.param(own ? 3 * d + which : which);
      const int64_t set = own || op_.shared ? 0 : op_.first_set + static_cast<int64_t>(d);
      result.insert(result.end(), all.begin() + set * each, all.begin() + (set + 1) * each);
    }
    return result;
  }

  // The rows that moves add to B: [tokens, 1, D, N].
  std::string moves(const std::vector<size_t>& members, size_t length) {
    const std::vector<float> table = to_.param(to_.params() - 1);
    const auto states = static_cast<size_t>(op_.states);
    std::vector<float> rows;
    for (size_t n = 0; n < length; ++n) {
      for (const size_t d : members) {
        const auto moves = scan_moves(op_.directions[d].path, to_.grid().height, to_.grid().width);
        const float* row = table.data() + static_cast<size_t>(moves[n]) * states;
        rows.insert(rows.end(), row, row + states);
      }
    }
    return nodes_.floats(
        {static_cast<int64_t>(length), 1, static_cast<int64_t>(members.size()), op_.states}, rows);
  }

  // h = exp(dt A) h + (dt u) B, y = C h + D u.
  std::string scan(const std::vector<size_t>& members) {
    const int64_t e = op_.channels, n = op_.states, d = static_cast<int64_t>(members.size());
    const std::string u = sequences(members, e, true, [](const ScanDirection& direction) {
      return std::pair(direction.u, direction.u_first);
    });
    const std::string raw = sequences(members, e, false, [](const ScanDirection& direction) {
      return std::pair(direction.steps, direction.step_first);
    });
    std::string b = sequences(members, n, false, [](const ScanDirection& direction) {
      return std::pair(direction.rates, direction.rate_first);
    });
    const std::string c = sequences(members, n, false, [&](const ScanDirection& direction) {
      return std::pair(direction.rates, direction.rate_first + op_.states);
    });
    if (op_.moves) b = nodes_.plus(b, moves(members, targets(members[0]).size()));
    std::vector<float> rates = params(members, 0, e * n), bias = params(members, 2, e);
    for (float& rate : rates) rate = static_cast<float>(-std::exp(static_cast<double>(rate)));
    for (float& value : bias) value *= op_.bias_factor;
    const std::string dt = nodes_.softplus(nodes_.plus(raw, nodes_.floats({d, e}, bias)));
    const std::string update = nodes_.mul(dt, u);

    ScanBody body(nodes_, "scan");
    NodeWriter& inside = body.nodes();
    const std::string state = body.state(zeros(update, n), {d, e, n});
    const std::string step = body.sequence(nodes_.unsqueeze(dt, {-1}), {d, e, 1});
    const std::string added = body.sequence(nodes_.unsqueeze(update, {-1}), {d, e, 1});
    const std::string in = body.sequence(nodes_.unsqueeze(b, {-2}), {d, 1, n});
    const std::string out = body.sequence(nodes_.unsqueeze(c, {-1}), {d, n, 1});
    const std::string decay =
        inside.add("Exp", {inside.mul(step, nodes_.floats({d, e, n}, rates))});
    const std::string next = inside.plus(inside.mul(decay, state), inside.mul(added, in));
    body.next_state(next, {d, e, n});
    body.result(inside.product(next, out), {d, e, 1});
    const std::string y = body.write()[1];  // [tokens, B, D, E, 1]
    const std::string sums = nodes_.add("Squeeze", {y, nodes_.integers({-1})});
    const std::string skip = nodes_.mul(u, nodes_.floats({d, e}, params(members, 1, e)));
    return nodes_.transpose(nodes_.plus(sums, skip), {2, 1, 0, 3});
  }

  // [B, D, E, N] of zeros, from a value [tokens, B, D, E] that has the batch's size.
  std::string zeros(const std::string& like, int64_t states) {
    const std::string first = nodes_.gather(like, 0, {0});
    const std::string column =
        nodes_.unsqueeze(nodes_.add("Squeeze", {first, nodes_.integers({0})}), {-1});
    return nodes_.mul(
        column, nodes_.floats({states}, std::vector<float>(static_cast<size_t>(states), 0.0f)));
  }

  const SelectiveScanOp& op_;
  OpWriter& to_;
  NodeWriter& nodes_;
};

}  // namespace

void write(const Conv1dOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const int64_t channels = to.grid().channels, rows = to.grid(0).positions();
  const auto order = scan_rows(op.path, to.grid(0).height, to.grid(0).width);
  std::string x = to.rows(0);
  if (channels != to.grid(0).channels) x = nodes.slice(x, 2, op.first, op.first + channels);
  x = nodes.transpose(take_rows(nodes, x, order, rows), {0, 2, 1});
  const std::string weight = nodes.parameter(to.spec(0).name, {channels, 1, op.width}, to.param(0));
  Names inputs = {x, weight};
  if (to.has_param(1)) inputs.push_back(to.stored(1));
  x = nodes.add(
      "Conv", inputs,
      {{"kernel_shape", Axes{op.width}}, {"pads", Axes{op.width - 1, 0}}, {"group", channels}});
  x = nodes.transpose(x, {0, 2, 1});
  const auto length = static_cast<int64_t>(order.size());
  if (!op.ordered) x = take_rows(nodes, x, inverse(order, to.grid().positions()), length);
  to.give(Form::kRows, x);
}

void write(const SelectiveScanOp& op, OpWriter& to) {
  to.fix_size();
  SelectiveScanWriter(op, to).run();
}

}  // namespace vig::onnx_format
