// Softmax attention, over the whole image and inside windows.
#include <cmath>

#include "vig/onnx/ops.h"

namespace vig::onnx_format {
namespace {

// softmax(D^-1/2 q k^T + added) v over the last two axes; `added` may be empty.
std::string attend(NodeWriter& nodes, const Names& qkv, const Axes& swap_last, int64_t head_dim,
                   const std::string& added) {
  const std::string keys = nodes.transpose(qkv[1], swap_last);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  std::string logits = nodes.mul(nodes.product(qkv[0], keys), nodes.scalar(scale));
  if (!added.empty()) logits = nodes.plus(logits, added);
  const std::string weights = nodes.add("Softmax", {logits}, {{"axis", int64_t{-1}}});
  return nodes.product(weights, qkv[2]);
}

// The thirds of the channels of x, each with its heads apart and in this order of axes.
Names heads_of(NodeWriter& nodes, const std::string& x, const Axes& shape, const Axes& order) {
  const int64_t width = shape[shape.size() - 2] * shape.back();
  Names parts = nodes.split(x, -1, {width, width, width});
  for (std::string& part : parts) part = nodes.transpose(nodes.reshape(part, shape), order);
  return parts;
}

// Windows of a grid after its roll: which token stands at each of their positions.
struct WindowPlan {
  int64_t windows = 0;
  int64_t positions = 0;  // of a window
  bool padded = false;
  Axes tokens;             // of every position; T, one behind the last, where it is padding
  Axes position_of_token;  // of every token
  std::vector<int> part;   // of every position: which part that the roll made it lies in
};

WindowPlan plan_windows(const WindowAttentionOp& op, const Grid& grid) {
  const int wh = op.window_height, ww = op.window_width;
  const int shift_y = window_shift(grid.height, wh, op.shifted);
  const int shift_x = window_shift(grid.width, ww, op.shifted);
  const int rows = (grid.height + wh - 1) / wh, cols = (grid.width + ww - 1) / ww;
  const auto part = [](int at, int size, int window, int shift) {
    return at < size - window ? 0 : at < size - shift ? 1 : 2;
  };
  WindowPlan plan;
  plan.windows = int64_t{rows} * cols;
  plan.positions = int64_t{wh} * ww;
  plan.position_of_token.resize(static_cast<size_t>(grid.positions()));
  for (int64_t position = 0; position < plan.windows * plan.positions; ++position) {
    const auto window = static_cast<int>(position / plan.positions);
    const auto inside = static_cast<int>(position % plan.positions);
    const int y = window / cols * wh + inside / ww, x = window % cols * ww + inside % ww;
    plan.part.push_back(3 * part(y, rows * wh, wh, shift_y) + part(x, cols * ww, ww, shift_x));
    if (y >= grid.height || x >= grid.width) {
      plan.padded = true;
      plan.tokens.push_back(grid.positions());
      continue;
    }
    const int from_y = (y + shift_y) % grid.height, from_x = (x + shift_x) % grid.width;
    plan.tokens.push_back(int64_t{from_y} * grid.width + from_x);
    plan.position_of_token[static_cast<size_t>(plan.tokens.back())] = position;
  }
  return plan;
}

// What is added to the logits [windows or 1, heads, N, N]: the table by where one position lies
// from the other, and -100 between parts that the roll made neighbours.
std::string added_logits(const WindowAttentionOp& op, const WindowPlan& plan, OpWriter& to) {
  if (!to.has_param(0)) return "";
  const std::vector<float> table = to.param(0);
  const int wh = op.window_height, ww = op.window_width;
  const int64_t n = plan.positions;
  bool masked = false;
  for (int64_t i = 0; i < plan.windows * n; ++i) {
    masked |= plan.part[static_cast<size_t>(i)] != plan.part[static_cast<size_t>(i / n * n)];
  }
  const int64_t windows = masked ? plan.windows : 1;
  std::vector<float> added;
  for (int64_t window = 0; window < windows; ++window) {
    const auto part = [&](int64_t position) {
      return plan.part[static_cast<size_t>(window * n + position)];
    };
    for (int head = 0; head < op.heads; ++head) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t y = i / ww - j / ww + wh - 1, x = i % ww - j % ww + ww - 1;
          const float bias = table[static_cast<size_t>((y * (2 * ww - 1) + x) * op.heads + head)];
          added.push_back(bias + (masked && part(i) != part(j) ? -100.0f : 0.0f));
        }
      }
    }
  }
  return to.nodes().floats({windows, op.heads, n, n}, added);
}

}  // namespace

void write(const AttentionOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const int64_t tokens = to.grid().positions(), width = to.grid().channels;
  const int64_t head_dim = width / op.heads;
  const Names qkv = heads_of(nodes, to.rows(0), {0, tokens, op.heads, head_dim}, {0, 2, 1, 3});
  const std::string heads = attend(nodes, qkv, {0, 1, 3, 2}, head_dim, "");
  const std::string merged = nodes.transpose(heads, {0, 2, 1, 3});
  to.give(Form::kRows, nodes.reshape(merged, {0, tokens, width}));
}

// One gather takes the tokens of all windows, rolled and padded; another one puts them back.
void write(const WindowAttentionOp& op, OpWriter& to) {
  to.fix_size();
  NodeWriter& nodes = to.nodes();
  const WindowPlan plan = plan_windows(op, to.grid());
  const int64_t width = to.grid().channels, head_dim = width / op.heads;
  std::string x = to.rows(0);
  if (plan.padded) {
    // A padded token is the bias of the projection, or 0. The first row times 0 has the batch's
    // size.
    std::string token = nodes.mul(nodes.slice(x, 1, 0, 1), nodes.scalar(0.0f));
    if (to.has_param(1)) token = nodes.plus(token, nodes.floats({1, 1, 3 * width}, to.param(1)));
    x = nodes.concat({x, token}, 1);
  }
  x = nodes.gather(x, 1, plan.tokens);
  const Names qkv =
      heads_of(nodes, x, {0, plan.windows, plan.positions, op.heads, head_dim}, {0, 1, 3, 2, 4});
  const std::string heads =
      attend(nodes, qkv, {0, 1, 2, 4, 3}, head_dim, added_logits(op, plan, to));
  const std::string merged = nodes.reshape(nodes.transpose(heads, {0, 1, 3, 2, 4}),
                                           {0, plan.windows * plan.positions, width});
  to.give(Form::kRows, nodes.gather(merged, 1, plan.position_of_token));
}

}  // namespace vig::onnx_format
