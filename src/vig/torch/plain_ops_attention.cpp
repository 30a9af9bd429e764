// Softmax attention in LibTorch's own operations.
#include <cmath>

#include "vig/kernels/attention.h"
#include "vig/kernels/window_attention.h"
#include "vig/torch/plain_ops.h"

namespace vig::train {
namespace {

// qkv [groups, T, 3 * heads * D] to [groups, T, heads * D]. `shift`, added to the logits, is
// broadcast to [groups, heads, T, T] and may be undefined.
at::Tensor attend(const at::Tensor& qkv, int64_t heads, const at::Tensor& shift) {
  const int64_t groups = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  const at::Tensor parts =
      qkv.reshape({groups, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
  const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
  at::Tensor logits = at::matmul(parts[0] * scale, parts[1].transpose(2, 3));
  if (shift.defined()) logits = logits + shift;
  return at::matmul(logits.softmax(-1), parts[2]).transpose(1, 2).reshape({groups, tokens, width});
}

at::Tensor index_tensor(const std::vector<int64_t>& values, const at::Tensor& like) {
  return at::tensor(values, at::kLong).to(like.device());
}

}  // namespace

at::Tensor PlainOps::attention(const at::Tensor& qkv, const AttentionOp& op) {
  return attend(qkv.flatten(1, 2), op.heads, {}).view({qkv.size(0), qkv.size(1), qkv.size(2), -1});
}

at::Tensor PlainOps::window_attention(const at::Tensor& qkv, const at::Tensor& table,
                                      const at::Tensor& bias, const WindowAttentionOp& op) {
  const int64_t batch = qkv.size(0), height = qkv.size(1), width = qkv.size(2);
  const AttentionWindows windows{
      height,
      width,
      op.window_height,
      op.window_width,
      window_shift(static_cast<int>(height), op.window_height, op.shifted),
      window_shift(static_cast<int>(width), op.window_width, op.shifted)};
  const int64_t n = windows.tokens(), count = windows.count();
  // The row behind the map is the padded token's.
  std::vector<int64_t> rows, positions(static_cast<size_t>(height * width));
  at::Tensor mask = at::zeros({count, n, n}, at::kFloat);
  for (int64_t w = 0; w < count; ++w) {
    std::vector<int32_t> row(static_cast<size_t>(n)), label(row.size());
    window_tokens(windows, w, row.data(), label.data());
    float* const to = mask.data_ptr<float>() + w * n * n;
    for (int64_t i = 0; i < n; ++i) {
      const int32_t at = row[static_cast<size_t>(i)];
      if (at >= 0) positions[static_cast<size_t>(at)] = static_cast<int64_t>(rows.size());
      rows.push_back(at < 0 ? height * width : at);
      for (int64_t j = 0; j < n; ++j) {
        const bool same = label[static_cast<size_t>(i)] == label[static_cast<size_t>(j)];
        to[i * n + j] = same ? 0.0f : kLabelPenalty;
      }
    }
  }
  std::vector<int64_t> pairs;  // rows of the table
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t y = i / op.window_width - j / op.window_width + op.window_height - 1;
      const int64_t x = i % op.window_width - j % op.window_width + op.window_width - 1;
      pairs.push_back(y * (2 * op.window_width - 1) + x);
    }
  }
  const at::Tensor position =
      table.index_select(0, index_tensor(pairs, qkv)).view({n, n, op.heads}).permute({2, 0, 1});
  const at::Tensor shift = (mask.to(qkv.device()).unsqueeze(1) + position)  // [count, heads, n, n]
                               .repeat({batch, 1, 1, 1});
  const at::Tensor padded = at::cat({qkv.flatten(1, 2), bias.expand({batch, 1, bias.size(0)})}, 1);
  const at::Tensor gathered =
      padded.index_select(1, index_tensor(rows, qkv)).view({batch * count, n, -1});
  return attend(gathered, op.heads, shift)
      .view({batch, count * n, -1})
      .index_select(1, index_tensor(positions, qkv))
      .view({batch, height, width, -1});
}

}  // namespace vig::train
