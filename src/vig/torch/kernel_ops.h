// Differentiable operations on our kernels: float32 on the CPU, values [batch, height, width,
// channels] contiguous. Each is an autograd function that keeps its inputs and recomputes the rest.
// The same operations in LibTorch's own terms are in plain_ops.h; a forward pass takes either.
#pragma once

#include <ATen/ATen.h>

#include "vig/graph/ops.h"

namespace vig::train {

struct KernelOps {
  // `bias` may be undefined, and so may `residual`, which is added.
  static at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& residual = {});
  static at::Tensor conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const ConvOp& op);
  // Weight [in, out, 2, 2].
  static at::Tensor upsample_conv(const at::Tensor& x, const at::Tensor& weight,
                                  const at::Tensor& bias);
  static at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& bias, const DepthwiseConvOp& op);
  static at::Tensor resize(const at::Tensor& x, int64_t height, int64_t width, const ResizeOp& op);
  static at::Tensor adaptive_pool(const at::Tensor& x, const AdaptivePoolOp& op);
  static at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& bias, float eps);
  static at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, float eps, int groups);
  static at::Tensor activation(const at::Tensor& x, Elementwise function);
  static at::Tensor scale(const at::Tensor& x, const at::Tensor& weight);
  // The rows of a table's grid on the grid of the image: [1, op.height, op.width, channels].
  static at::Tensor resize_position(const at::Tensor& table, const AddPositionOp& op);
  static at::Tensor swiglu(const at::Tensor& x);
  // Weights may be undefined: then that side is not normalised.
  struct Mix {
    at::Tensor gate, o, local, o_weight, local_weight;
    float eps = 0;
    int heads = 1;
    bool silu = false;
  };
  static at::Tensor gated_mix(const Mix& mix);
  static at::Tensor gla(const at::Tensor& qkv, const at::Tensor& gates, const GlaOp& op);
  static at::Tensor attention(const at::Tensor& qkv, const AttentionOp& op);
  // `bias` is that of the projection which made qkv.
  static at::Tensor window_attention(const at::Tensor& qkv, const at::Tensor& table,
                                     const at::Tensor& bias, const WindowAttentionOp& op);
  static at::Tensor conv1d(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const Conv1dOp& op);
  // One direction without scale and gate, on a grid of height x width; `rates` are the operand of B
  // and C, `bias` is multiplied already, `moves` may be undefined.
  struct Scan {
    at::Tensor u, steps, rates, a_log, d, bias, moves;
    const SelectiveScanOp* op = nullptr;
    size_t direction = 0;
    int64_t height = 0, width = 0;
  };
  static at::Tensor selective_scan(const Scan& scan);
  // mixes [count, C].
  static at::Tensor q_shift(const at::Tensor& x, const at::Tensor& mixes);
  static at::Tensor bi_wkv(const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                           const at::Tensor& first, const BiWkvOp& op);
  // x [B, H, W, d], taps [copies, rows, d] in the order of kernels/long_conv.h.
  static at::Tensor long_conv(const at::Tensor& x, const at::Tensor& taps, int64_t past);
  static at::Tensor deformable(const at::Tensor& values, const at::Tensor& offsets,
                               const at::Tensor& logits, const DeformableOp& op);
};

}  // namespace vig::train
