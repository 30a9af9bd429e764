#include "vig/torch/plain_ops.h"

#include <algorithm>
#include <cmath>

#include "vig/base/error.h"
#include "vig/torch/maybe_tensor.h"
#include "vig/torch/plain_scan.h"

namespace vig::train {
namespace {

template <class Op>
at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const Op& op, int64_t groups) {
  at::Tensor in = x.permute({0, 3, 1, 2});
  int64_t padding = op.padding;
  if (padding < 0) {
    // What lies before the grid, and what the last window reaches behind it.
    const auto around = [&](int64_t size) {
      const int n = static_cast<int>(size);
      const int before = window_padding(n, op.kernel, op.stride, op.padding);
      const int windows = window_count(n, op.kernel, op.stride, op.padding);
      return std::pair<int64_t, int64_t>(
          before, std::max(0, (windows - 1) * op.stride + op.kernel - n - before));
    };
    const auto [top, bottom] = around(x.size(1));
    const auto [left, right] = around(x.size(2));
    in = at::constant_pad_nd(in, {left, right, top, bottom});
    padding = 0;
  }
  return at::conv2d(in, weight, maybe(bias), op.stride, padding, 1, groups).permute({0, 2, 3, 1});
}

}  // namespace

at::Tensor PlainOps::linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& residual) {
  const at::Tensor y = at::linear(x, weight, maybe(bias));
  return residual.defined() ? residual + y : y;
}

at::Tensor PlainOps::conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const ConvOp& op) {
  return convolution(x, weight, bias, op, op.groups);
}

at::Tensor PlainOps::depthwise_conv(const at::Tensor& x, const at::Tensor& weight,
                                    const at::Tensor& bias, const DepthwiseConvOp& op) {
  return convolution(x, weight, bias, op, weight.size(0));
}

at::Tensor PlainOps::upsample_conv(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& bias) {
  return at::conv_transpose2d(x.permute({0, 3, 1, 2}), weight, bias, 2).permute({0, 2, 3, 1});
}

at::Tensor PlainOps::resize(const at::Tensor& x, int64_t height, int64_t width,
                            const ResizeOp& op) {
  if (op.resampling == Resampling::kBilinear) {
    return at::upsample_bilinear2d(x.permute({0, 3, 1, 2}), {height, width}, false)
        .permute({0, 2, 3, 1});
  }
  // LibTorch rounds the scale, which can miss floor(i in / out) by one.
  const auto lines = [&](int64_t in, int64_t out) {
    const at::Tensor i = at::arange(out, at::TensorOptions(x.device()).dtype(at::kLong));
    return at::floor_divide(i * in, out);
  };
  return x.index_select(1, lines(x.size(1), height)).index_select(2, lines(x.size(2), width));
}

at::Tensor PlainOps::adaptive_pool(const at::Tensor& x, const AdaptivePoolOp& op) {
  return at::adaptive_avg_pool2d(x.permute({0, 3, 1, 2}), {op.cells, op.cells})
      .permute({0, 2, 3, 1});
}

at::Tensor PlainOps::layer_norm(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias, float eps) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

at::Tensor PlainOps::rms_norm(const at::Tensor& x, const at::Tensor& weight, float eps,
                              int groups) {
  std::vector<int64_t> parts = x.sizes().vec();
  parts.back() = groups;
  parts.push_back(x.size(-1) / groups);
  const at::Tensor grouped = x.reshape(parts);
  return (grouped * (grouped.square().mean(-1, true) + eps).rsqrt() * weight).reshape(x.sizes());
}

at::Tensor PlainOps::activation(const at::Tensor& x, Elementwise function) {
  switch (function) {
    case Elementwise::kIdentity:
      return x;
    case Elementwise::kRelu:
      return at::relu(x);
    case Elementwise::kRelu2:
      return at::relu(x).square();
    case Elementwise::kSilu:
      return at::silu(x);
    case Elementwise::kGelu:
      // LibTorch 1.13 leaves the gradient unwritten where that of the result has other strides than
      // x. The gradient of a view has the strides of its base.
      return at::gelu(x.contiguous()).flatten().view(x.sizes());
    case Elementwise::kSigmoid:
      return at::sigmoid(x);
    case Elementwise::kDecay:
      return at::exp(at::log_sigmoid(x) / 16);
  }
  fail("[train] unknown function");
}

at::Tensor PlainOps::scale(const at::Tensor& x, const at::Tensor& weight) { return x * weight; }

at::Tensor PlainOps::resize_position(const at::Tensor& table, const AddPositionOp& op) {
  const at::Tensor grid = table.view({1, op.rows, op.cols, -1});
  if (op.height == op.rows && op.width == op.cols) return grid;
  return at::upsample_bicubic2d(grid.permute({0, 3, 1, 2}), {op.height, op.width}, false)
      .permute({0, 2, 3, 1});
}

at::Tensor PlainOps::swiglu(const at::Tensor& x) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return at::silu(halves[0]) * halves[1];
}

at::Tensor PlainOps::gated_mix(const KernelOps::Mix& mix) {
  const at::Tensor gate = at::sigmoid(mix.gate);
  const at::Tensor o =
      mix.o_weight.defined() ? rms_norm(mix.o, mix.o_weight, mix.eps, mix.heads) : mix.o;
  const at::Tensor local = mix.local_weight.defined()
                               ? rms_norm(mix.local, mix.local_weight, mix.eps, mix.heads)
                               : mix.local;
  const at::Tensor y = gate * o + (1 - gate) * local;
  return mix.silu ? at::silu(y) : y;
}

at::Tensor PlainOps::gla(const at::Tensor& qkv, const at::Tensor& gates, const GlaOp& op) {
  const int64_t b = qkv.size(0), tokens = qkv.size(1) * qkv.size(2);
  const int64_t keys = static_cast<int64_t>(op.heads) * op.key_dim;
  const at::Tensor rows = qkv.reshape({b, tokens, qkv.size(3)});
  const at::Tensor logs = at::log_sigmoid(gates.reshape({b, tokens, gates.size(3)})) / 16;
  const auto heads = [&](const at::Tensor& x, int64_t first, int64_t width) {
    return x.narrow(2, first, op.heads * width).view({b, tokens, op.heads, width}).transpose(1, 2);
  };
  const at::Tensor q = heads(rows, 0, op.key_dim), k = heads(rows, keys, op.key_dim);
  const at::Tensor v = heads(rows, 2 * keys, op.value_dim);
  const bool shared = op.direction != GlaDirection::kBoth;
  at::Tensor o;
  if (op.direction != GlaDirection::kBackward) o = plain_scan(q, k, v, heads(logs, 0, op.key_dim));
  if (op.direction != GlaDirection::kForward) {
    const at::Tensor gate = heads(logs, shared ? 0 : keys, op.key_dim);
    const at::Tensor back = plain_scan(q.flip(2), k.flip(2), v.flip(2), gate.flip(2)).flip(2);
    o = o.defined() ? (o + back) / 2 : back;
  }
  o = o / std::sqrt(static_cast<double>(op.key_dim));
  return o.transpose(1, 2).reshape({b, qkv.size(1), qkv.size(2), -1});
}

}  // namespace vig::train
