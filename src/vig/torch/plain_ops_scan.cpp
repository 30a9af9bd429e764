// Convolutions over sequences, selective scan, token shift and bidirectional WKV in LibTorch's own
// terms.
#include <cmath>

#include "vig/graph/scan_path.h"
#include "vig/torch/maybe_tensor.h"
#include "vig/torch/plain_ops.h"

namespace vig::train {
namespace {

at::Tensor as_tensor(const std::vector<int32_t>& integers, const at::Tensor& like) {
  const std::vector<int64_t> wide(integers.begin(), integers.end());
  return at::tensor(wide, at::kLong).to(like.device());
}

// Row index[n] of each sequence x [B, T, C], zeros where that is negative.
at::Tensor taken(const at::Tensor& x, const at::Tensor& index) {
  // A row of zeros behind the others.
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 0, 1});
  return padded.index_select(1, at::where(index < 0, x.size(1), index));
}

// The rows of y [B, T, C] at `index` of a sequence of `rows`; those of a negative index are
// dropped.
at::Tensor scattered(const at::Tensor& y, const at::Tensor& index, int64_t rows) {
  const at::Tensor to = at::where(index < 0, rows, index);
  return at::zeros({y.size(0), rows + 1, y.size(2)}, y.options())
      .index_add(1, to, y)
      .narrow(1, 0, rows);
}

}  // namespace

at::Tensor PlainOps::conv1d(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const Conv1dOp& op) {
  const int64_t channels = weight.size(0);
  const at::Tensor order =
      as_tensor(scan_rows(op.path, static_cast<int>(x.size(1)), static_cast<int>(x.size(2))), x);
  at::Tensor in = taken(x.narrow(3, op.first, channels).flatten(1, 2), order).transpose(1, 2);
  in = at::constant_pad_nd(in, {op.width - 1, 0});
  constexpr int64_t kOne = 1, kNone = 0;
  const at::Tensor y =
      at::conv1d(in, weight, maybe(bias), kOne, kNone, kOne, channels).transpose(1, 2);
  if (op.ordered) return y.unsqueeze(1);
  return scattered(y, order, order.size(0)).view({x.size(0), x.size(1), x.size(2), channels});
}

at::Tensor PlainOps::selective_scan(const KernelOps::Scan& scan) {
  const SelectiveScanOp& op = *scan.op;
  const ScanDirection& direction = op.directions[scan.direction];
  const int height = static_cast<int>(scan.height), width = static_cast<int>(scan.width);
  const int64_t channels = scan.a_log.size(0), states = scan.a_log.size(1);
  const auto sequence = [&](const at::Tensor& x, bool of_u) {
    const std::vector<int32_t> rows = scan_sources(op, direction.path, height, width, of_u);
    return taken(x.flatten(1, 2), as_tensor(rows, x));
  };
  const at::Tensor u = sequence(scan.u, true).narrow(2, direction.u_first, channels);
  const at::Tensor steps = sequence(scan.steps, false).narrow(2, direction.step_first, channels);
  const at::Tensor bc = sequence(scan.rates, false);
  at::Tensor b = bc.narrow(2, direction.rate_first, states);
  const at::Tensor c = bc.narrow(2, direction.rate_first + states, states);
  if (scan.moves.defined()) {
    const at::Tensor moves = as_tensor(scan_moves(direction.path, height, width), scan.u);
    b = b + scan.moves.index_select(0, moves);
  }
  const at::Tensor raw = steps + scan.bias;
  const at::Tensor dt = at::clamp_min(raw, 0) + at::log1p(at::exp(-at::abs(raw)));
  const at::Tensor decay = at::exp(dt.unsqueeze(3) * -at::exp(scan.a_log));  // [B, T, E, N]
  const at::Tensor fed = (dt * u).unsqueeze(3) * b.unsqueeze(2);
  at::Tensor state = at::zeros({u.size(0), channels, states}, u.options());
  std::vector<at::Tensor> ys;
  for (int64_t t = 0; t < u.size(1); ++t) {
    state = decay.select(1, t) * state + fed.select(1, t);
    ys.push_back((state * c.select(1, t).unsqueeze(1)).sum(2));
  }
  const at::Tensor y = at::stack(ys, 1) + scan.d * u;
  const at::Tensor targets = as_tensor(scan_targets(op, direction.path, height, width), scan.u);
  return scattered(y, targets, scan.height * scan.width)
      .view({u.size(0), scan.height, scan.width, channels});
}

at::Tensor PlainOps::q_shift(const at::Tensor& x, const at::Tensor& mixes) {
  const int64_t channels = x.size(3), height = x.size(1), width = x.size(2);
  // One line of zeros around the grid; each quarter of the channels is read from another position.
  const at::Tensor padded = at::constant_pad_nd(x, {0, 0, 1, 1, 1, 1});
  constexpr int64_t kDown[] = {1, 1, 0, 2}, kRight[] = {0, 2, 1, 1};
  std::vector<at::Tensor> quarters, results;
  for (int64_t g = 0; g < 4; ++g) {
    const int64_t first = g * channels / 4, end = (g + 1) * channels / 4;
    quarters.push_back(padded.narrow(1, kDown[g], height)
                           .narrow(2, kRight[g], width)
                           .narrow(3, first, end - first));
  }
  const at::Tensor shifted = at::cat(quarters, 3);
  for (const at::Tensor& mix : mixes.unbind(0)) {
    results.push_back(x * mix + shifted * (1 - mix));
  }
  return at::cat(results, 3);
}

// Rows are by rising distance of the token that is taken, so the cross-correlation takes them
// backward.
at::Tensor PlainOps::long_conv(const at::Tensor& x, const at::Tensor& taps, int64_t past) {
  const int64_t copies = taps.size(0), rows = taps.size(1), channels = taps.size(2);
  at::Tensor in = x.flatten(1, 2).transpose(1, 2);
  in = at::constant_pad_nd(in, {past - 1, rows - past});
  // The copies of a channel are the outputs of its group.
  const at::Tensor weight = taps.flip(1).permute({2, 0, 1}).reshape({channels * copies, 1, rows});
  constexpr int64_t kOne = 1, kNone = 0;
  const at::Tensor y = at::conv1d(in, weight, {}, kOne, kNone, kOne, channels);
  return y.view({x.size(0), channels, copies, y.size(2)})
      .permute({0, 3, 2, 1})
      .reshape({x.size(0), x.size(1), x.size(2), copies * channels});
}

// A matrix of all pairs of tokens for every channel, so that small images only are for it.
at::Tensor PlainOps::bi_wkv(const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                            const at::Tensor& first, const BiWkvOp& op) {
  const int64_t tokens = k.size(1) * k.size(2), chunk = (tokens + 31) / 32;
  const at::Tensor w = decay / static_cast<double>(tokens), u = first / static_cast<double>(tokens);
  const at::Tensor t = at::arange(tokens, k.options()).view({tokens, 1});
  const at::Tensor i = t.view({1, tokens});
  const at::Tensor own = (t == i).unsqueeze(2);
  at::Tensor distance = at::abs(t - i) - 1;
  if (op.released) {
    const at::Tensor begin = at::floor(t / static_cast<double>(chunk)) * static_cast<double>(chunk);
    distance = at::where(at::logical_and(i >= begin, i < t), distance, distance + 1);
  }
  const at::Tensor logs = at::where(own, u, -distance.unsqueeze(2) * w);  // [T, T, C]
  const at::Tensor keys = k.flatten(1, 2), values = v.flatten(1, 2);
  // Relative to the largest weight of each row of pairs.
  const at::Tensor pairs = logs.unsqueeze(0) + keys.unsqueeze(1);  // [B, T, T, C]
  const at::Tensor largest = pairs.detach().amax({2}, true);
  at::Tensor weights = at::exp(pairs - largest);
  if (op.released) {
    // What the running subtraction of the future sum leaves.
    const at::Tensor begin = at::floor(t / static_cast<double>(chunk)) * static_cast<double>(chunk);
    const at::Tensor there = at::logical_and(i > begin, i <= t).unsqueeze(2);
    const at::Tensor rest =
        at::exp((t - i).clamp_min(0).unsqueeze(2) * w + keys.unsqueeze(1) - largest) *
        (1 - at::exp(w));
    weights = weights + at::where(there, rest, at::zeros({1}, k.options()));
  }
  return ((weights * values.unsqueeze(1)).sum(2) / weights.sum(2)).view_as(k);
}

}  // namespace vig::train
