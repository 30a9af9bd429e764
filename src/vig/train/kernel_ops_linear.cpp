// Matrix products and convolutions.
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "vig/kernels/conv.h"
#include "vig/kernels/conv_backward.h"
#include "vig/kernels/gemm.h"
#include "vig/kernels/gemm_backward.h"
#include "vig/kernels/pointwise_backward.h"
#include "vig/train/kernel_ops.h"
#include "vig/train/maybe_tensor.h"
#include "vig/train/plain_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const float* data_or_null(const MaybeTensor& tensor) {
  return tensor.has_value() ? tensor->data_ptr<float>() : nullptr;
}

// Panels of `weight`, which is [n, k], or [k, n] if `transposed`.
PackedMatrix pack(const at::Tensor& weight, const MaybeTensor& bias, bool transposed,
                  at::Tensor& panels) {
  const int64_t n = weight.size(transposed ? 1 : 0), k = weight.size(transposed ? 0 : 1);
  panels = at::empty({static_cast<int64_t>(gemm_packed_floats(n, k, false))}, weight.options());
  float* to = panels.data_ptr<float>();
  return transposed ? gemm_pack_transposed(weight.data_ptr<float>(), n, k, to)
                    : gemm_pack(weight.data_ptr<float>(), data_or_null(bias), n, k, false, to);
}

// out [rows, n] = a [rows, k] times packed weights, plus `residual` [rows, n] if there is one.
void multiply(const float* a, int64_t rows, const PackedMatrix& weight, float* out,
              const float* residual = nullptr) {
  // Some rows at a time, so that they stay in the second-level cache for all panels.
  const int64_t tile = 8 * gemm_strip_rows();
  for (int64_t first = 0; first < rows; first += tile) {
    GemmArgs args;
    args.a = a + first * weight.k;
    args.lda = weight.k;
    args.rows = std::min(tile, rows - first);
    args.weight = weight;
    args.c = out + first * weight.n;
    args.ldc = weight.n;
    if (residual != nullptr) {
      args.residual = residual + first * weight.n;
      args.ldr = weight.n;
    }
    gemm(args);
  }
}

// [n, k] = dy [rows, n]^T x [rows, k].
at::Tensor weight_gradient(const at::Tensor& dy, const at::Tensor& x) {
  const int64_t n = dy.size(1), k = x.size(1);
  at::Tensor dw = at::empty({n, k}, x.options());
  GemmBackwardArgs args;
  args.dy = dy.data_ptr<float>();
  args.ldy = n;
  args.x = x.data_ptr<float>();
  args.ldx = k;
  args.rows = x.size(0);
  args.n = n;
  args.k = k;
  args.dw = dw.data_ptr<float>();
  args.ldw = k;
  gemm_backward(args);
  return dw;
}

at::Tensor column_sums(const at::Tensor& dy) {
  at::Tensor sums = at::zeros({dy.size(1)}, dy.options());
  add_column_sums(dy.data_ptr<float>(), dy.size(1), dy.size(0), dy.size(1), sums.data_ptr<float>());
  return sums;
}

std::vector<int64_t> with_channels(const at::Tensor& x, int64_t channels) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = channels;
  return sizes;
}

struct Linear : Function<Linear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias, const MaybeTensor& residual) {
    at::Tensor panels;
    const PackedMatrix packed = pack(weight, bias, false, panels);
    at::Tensor y = at::empty(with_channels(x, packed.n), x.options());
    multiply(x.data_ptr<float>(), x.numel() / packed.k, packed, y.data_ptr<float>(),
             data_or_null(residual));
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.has_value();
    ctx->saved_data["residual"] = residual.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const int64_t n = weight.size(0), k = weight.size(1);
    const at::Tensor dy = grads[0].contiguous().view({-1, n});
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) {
      at::Tensor panels;
      const PackedMatrix packed = pack(weight, {}, true, panels);
      dx = at::empty_like(x);
      multiply(dy.data_ptr<float>(), dy.size(0), packed, dx.data_ptr<float>());
    }
    if (ctx->needs_input_grad(1)) dw = weight_gradient(dy, x.view({-1, k}));
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) db = column_sums(dy);
    return {dx, dw, db, ctx->saved_data["residual"].toBool() ? grads[0] : at::Tensor()};
  }
};

template <class Op>
Windows windows_of(const at::Tensor& x, const Op& op) {
  const int height = static_cast<int>(x.size(1)), width = static_cast<int>(x.size(2));
  return {op.kernel,
          op.stride,
          window_padding(height, op.kernel, op.stride, op.padding),
          window_padding(width, op.kernel, op.stride, op.padding),
          window_count(height, op.kernel, op.stride, op.padding),
          window_count(width, op.kernel, op.stride, op.padding)};
}

ConvGrid grid_of(const at::Tensor& x) { return {x.size(1), x.size(2), x.size(3)}; }

// A dense convolution is a product of gathered patches with [out, kernel * kernel * in].
struct ConvShape {
  ConvGrid grid;
  Windows windows;
  int64_t batch = 0;
  int64_t width = 0;  // of a patch

  ConvShape(const at::Tensor& x, const ConvOp& op)
      : grid(grid_of(x)),
        windows(windows_of(x, op)),
        batch(x.size(0)),
        width(windows.kernel * windows.kernel * x.size(3)) {}
  int64_t rows() const { return batch * windows.height * windows.width; }

  at::Tensor gather(const at::Tensor& x) const {
    at::Tensor out = at::empty({rows(), width}, x.options());
    PatchArgs args;
    args.in = x.data_ptr<float>();
    args.grid = grid;
    args.windows = windows;
    args.last_row = rows();
    args.out = out.data_ptr<float>();
    args.out_stride = width;
    gather_patches(args);
    return out;
  }

  at::Tensor scatter(const at::Tensor& from, const at::Tensor& x) const {
    at::Tensor out = at::empty_like(x);
    ScatterArgs args;
    args.patches = from.data_ptr<float>();
    args.patch_stride = width;
    args.grid = grid;
    args.windows = windows;
    args.last_row = x.numel() / grid.channels;
    args.out = out.data_ptr<float>();
    args.out_stride = grid.channels;
    scatter_patches(args);
    return out;
  }
};

at::Tensor flat_weight(const at::Tensor& weight) {  // [out, kernel * kernel * in]
  at::Tensor flat = at::empty({weight.size(0), weight.numel() / weight.size(0)}, weight.options());
  patch_weight(weight.data_ptr<float>(), weight.size(0), weight.size(1), weight.size(2),
               flat.data_ptr<float>());
  return flat;
}

struct Conv : Function<Conv> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias, int64_t stride, int64_t padding) {
    const ConvOp op{static_cast<int>(weight.size(2)), static_cast<int>(stride),
                    static_cast<int>(padding)};
    const ConvShape shape(x, op);
    at::Tensor panels;
    const PackedMatrix packed = pack(flat_weight(weight), bias, false, panels);
    at::Tensor y =
        at::empty({shape.batch, shape.windows.height, shape.windows.width, packed.n}, x.options());
    multiply(shape.gather(x).data_ptr<float>(), shape.rows(), packed, y.data_ptr<float>());
    ctx->save_for_backward({x, weight});
    ctx->saved_data["stride"] = stride;
    ctx->saved_data["padding"] = padding;
    ctx->saved_data["bias"] = bias.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const ConvOp op{static_cast<int>(weight.size(2)),
                    static_cast<int>(ctx->saved_data["stride"].toInt()),
                    static_cast<int>(ctx->saved_data["padding"].toInt())};
    const ConvShape shape(x, op);
    const at::Tensor dy = grads[0].contiguous().view({shape.rows(), weight.size(0)});
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) {
      at::Tensor panels;
      const PackedMatrix packed = pack(flat_weight(weight), {}, true, panels);
      at::Tensor dpatches = at::empty({shape.rows(), shape.width}, x.options());
      multiply(dy.data_ptr<float>(), shape.rows(), packed, dpatches.data_ptr<float>());
      dx = shape.scatter(dpatches, x);
    }
    if (ctx->needs_input_grad(1)) {
      const at::Tensor flat = weight_gradient(dy, shape.gather(x));
      dw = at::empty_like(weight);
      patch_weight_inverse(flat.data_ptr<float>(), weight.size(0), weight.size(1), weight.size(2),
                           dw.data_ptr<float>());
    }
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) db = column_sums(dy);
    return {dx, dw, db, {}, {}};
  }
};

struct DepthwiseConv : Function<DepthwiseConv> {
  // `taps` [kernel * kernel, channels].
  static at::Tensor run(const at::Tensor& x, const Windows& windows, const at::Tensor& taps,
                        const MaybeTensor& bias) {
    const int64_t channels = x.size(3);
    at::Tensor y = at::empty({x.size(0), windows.height, windows.width, channels}, x.options());
    DepthwiseConvArgs args;
    args.in = x.data_ptr<float>();
    args.grid = grid_of(x);
    args.windows = windows;
    args.taps = taps.data_ptr<float>();
    args.bias = data_or_null(bias);
    args.last_row = y.numel() / channels;
    args.out = y.data_ptr<float>();
    args.out_stride = channels;
    vig::depthwise_conv(args);
    return y;
  }

  static at::Tensor taps_of(const at::Tensor& weight, bool flipped) {
    const int64_t channels = weight.size(0), kernel = weight.size(2);
    at::Tensor taps = at::empty({kernel * kernel, channels}, weight.options());
    (flipped ? depthwise_taps_flipped : depthwise_taps)(weight.data_ptr<float>(), channels, kernel,
                                                        taps.data_ptr<float>());
    return taps;
  }

  static at::Tensor input_gradient(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& dy, const Windows& windows) {
    if (windows.stride == 1) {
      return run(dy, flipped_windows(windows, grid_of(x)), taps_of(weight, true), {});
    }
    const at::Tensor taps = taps_of(weight, false);
    at::Tensor dx = at::empty_like(x);
    DepthwiseInputArgs args;
    args.dy = dy.data_ptr<float>();
    args.grid = grid_of(x);
    args.windows = windows;
    args.taps = taps.data_ptr<float>();
    args.last_row = x.numel() / x.size(3);
    args.dx = dx.data_ptr<float>();
    args.dx_stride = x.size(3);
    depthwise_input_backward(args);
    return dx;
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias, int64_t stride, int64_t padding) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["stride"] = stride;
    ctx->saved_data["padding"] = padding;
    ctx->saved_data["bias"] = bias.has_value();
    const DepthwiseConvOp op{static_cast<int>(weight.size(2)), static_cast<int>(stride),
                             static_cast<int>(padding)};
    return run(x, windows_of(x, op), taps_of(weight, false), bias);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor dy = grads[0].contiguous();
    const int64_t channels = weight.size(0), kernel = weight.size(2);
    const DepthwiseConvOp op{static_cast<int>(kernel),
                             static_cast<int>(ctx->saved_data["stride"].toInt()),
                             static_cast<int>(ctx->saved_data["padding"].toInt())};
    const Windows windows = windows_of(x, op);
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) dx = input_gradient(x, weight, dy, windows);
    if (ctx->needs_input_grad(1)) {
      at::Tensor dtaps = at::zeros({kernel * kernel, channels}, x.options());
      DepthwiseWeightArgs args;
      args.in = x.data_ptr<float>();
      args.grid = grid_of(x);
      args.windows = windows;
      args.last_row = dy.numel() / channels;
      args.dy = dy.data_ptr<float>();
      args.dy_stride = channels;
      args.dtaps = dtaps.data_ptr<float>();
      depthwise_weight_backward(args);
      dw = at::empty_like(weight);
      patch_weight_inverse(dtaps.data_ptr<float>(), 1, channels, kernel, dw.data_ptr<float>());
    }
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) {
      db = column_sums(dy.view({-1, channels}));
    }
    return {dx, dw, db, {}, {}};
  }
};

}  // namespace

at::Tensor KernelOps::linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& residual) {
  const at::Tensor added = residual.defined() ? residual.contiguous() : residual;
  return Linear::apply(x.contiguous(), weight, maybe(bias), maybe(added));
}

at::Tensor KernelOps::conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const ConvOp& op) {
  if (op.groups > 1) return PlainOps::conv(x, weight, bias, op);
  return Conv::apply(x.contiguous(), weight, maybe(bias), static_cast<int64_t>(op.stride),
                     static_cast<int64_t>(op.padding));
}

at::Tensor KernelOps::depthwise_conv(const at::Tensor& x, const at::Tensor& weight,
                                     const at::Tensor& bias, const DepthwiseConvOp& op) {
  return DepthwiseConv::apply(x.contiguous(), weight, maybe(bias), static_cast<int64_t>(op.stride),
                              static_cast<int64_t>(op.padding));
}

}  // namespace vig::train
