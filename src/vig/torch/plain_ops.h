// The operations of kernel_ops.h in LibTorch's own terms: what runs on other devices than the CPU,
// and the reference implementation that kernel_ops is tested against.
#pragma once

#include "vig/torch/kernel_ops.h"

namespace vig::train {

struct PlainOps {
  static at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& residual = {});
  static at::Tensor conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const ConvOp& op);
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
  static at::Tensor gated_mix(const KernelOps::Mix& mix);
  // The expansion of the scan in chunks: inside a chunk every pair of tokens with the product of
  // the gates between them, between chunks a state.
  static at::Tensor gla(const at::Tensor& qkv, const at::Tensor& gates, const GlaOp& op);
  static at::Tensor attention(const at::Tensor& qkv, const AttentionOp& op);
  // `bias` is that of the projection which made qkv.
  static at::Tensor window_attention(const at::Tensor& qkv, const at::Tensor& table,
                                     const at::Tensor& bias, const WindowAttentionOp& op);
  static at::Tensor conv1d(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const Conv1dOp& op);
  static at::Tensor selective_scan(const KernelOps::Scan& scan);
  static at::Tensor q_shift(const at::Tensor& x, const at::Tensor& mixes);
  static at::Tensor bi_wkv(const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                           const at::Tensor& first, const BiWkvOp& op);
  static at::Tensor long_conv(const at::Tensor& x, const at::Tensor& taps, int64_t past);
  static at::Tensor deformable(const at::Tensor& values, const at::Tensor& offsets,
                               const at::Tensor& logits, const DeformableOp& op);
};

}  // namespace vig::train
