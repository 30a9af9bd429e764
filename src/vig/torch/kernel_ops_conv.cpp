// Convolutions.
#include <torch/csrc/autograd/custom_function.h>

#include "vig/kernels/backward/conv.h"
#include "vig/kernels/backward/conv_dense.h"
#include "vig/kernels/conv.h"
#include "vig/kernels/conv_dense.h"
#include "vig/kernels/upsample_conv.h"
#include "vig/torch/column_sums.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/maybe_tensor.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor floats(size_t count, const at::Tensor& like) {
  return at::empty({static_cast<int64_t>(count)}, like.options());
}

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

// What an operation's node keeps for the gradients, besides its operands.
template <class Op>
void save_windows(AutogradContext* ctx, const Op& op, const MaybeTensor& bias) {
  ctx->saved_data["stride"] = static_cast<int64_t>(op.stride);
  ctx->saved_data["padding"] = static_cast<int64_t>(op.padding);
  ctx->saved_data["bias"] = bias.has_value();
}

int saved(AutogradContext* ctx, const char* name) {
  return static_cast<int>(ctx->saved_data[name].toInt());
}

struct Conv : Function<Conv> {
  static ConvShape shape_of(const at::Tensor& x, const at::Tensor& weight, const ConvOp& op) {
    return {grid_of(x), windows_of(x, op), weight.size(0), op.groups};
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias, int64_t stride, int64_t padding,
                            int64_t groups) {
    const ConvOp op{static_cast<int>(weight.size(2)), static_cast<int>(stride),
                    static_cast<int>(padding), static_cast<int>(groups)};
    const at::Tensor y = run(x, weight, bias, shape_of(x, weight, op));
    ctx->save_for_backward({x, weight});
    save_windows(ctx, op, bias);
    ctx->saved_data["groups"] = groups;
    return y;
  }

  static at::Tensor run(const at::Tensor& x, const at::Tensor& weight, const MaybeTensor& bias,
                        const ConvShape& shape) {
    const at::Tensor panels = floats(conv_packed_floats(shape), weight);
    conv_pack(shape, weight.data_ptr<float>(), data_or_null(bias), panels.data_ptr<float>());
    at::Tensor y = at::empty(
        {x.size(0), shape.windows.height, shape.windows.width, shape.out_channels}, x.options());
    DenseConvArgs args;
    args.shape = shape;
    args.in = x.data_ptr<float>();
    args.panels = panels.data_ptr<float>();
    args.last_row = x.size(0) * shape.positions();
    args.out = y.data_ptr<float>();
    args.out_stride = shape.out_channels;
    dense_conv(args);
    return y;
  }

  static at::Tensor input_gradient(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& dy, const ConvShape& shape) {
    const at::Tensor panels = floats(conv_input_backward_floats(shape), weight);
    conv_input_backward_pack(shape, weight.data_ptr<float>(), panels.data_ptr<float>());
    const at::Tensor scratch = floats(conv_input_backward_scratch(shape), x);
    at::Tensor dx = at::empty_like(x);
    ConvInputBackwardArgs args;
    args.shape = shape;
    args.dy = dy.data_ptr<float>();
    args.panels = panels.data_ptr<float>();
    args.last_image = x.size(0);
    args.dx = dx.data_ptr<float>();
    args.scratch = scratch.data_ptr<float>();
    conv_input_backward(args);
    return dx;
  }

  static at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& weight,
                                    const at::Tensor& dy, const ConvShape& shape) {
    const at::Tensor scratch = floats(conv_weight_backward_scratch(shape), x);
    const at::Tensor sums = at::zeros({weight.numel()}, weight.options());
    ConvWeightBackwardArgs args;
    args.shape = shape;
    args.in = x.data_ptr<float>();
    args.dy = dy.data_ptr<float>();
    args.last_row = dy.numel() / shape.out_channels;
    args.dweight = sums.data_ptr<float>();
    args.scratch = scratch.data_ptr<float>();
    conv_weight_backward(args);
    at::Tensor dw = at::empty_like(weight);
    patch_weight_inverse(sums.data_ptr<float>(), weight.size(0), weight.size(1), weight.size(2),
                         dw.data_ptr<float>());
    return dw;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list tensors = ctx->get_saved_variables();
    const at::Tensor &x = tensors[0], &weight = tensors[1];
    const ConvOp op{static_cast<int>(weight.size(2)), saved(ctx, "stride"), saved(ctx, "padding"),
                    saved(ctx, "groups")};
    const ConvShape shape = shape_of(x, weight, op);
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) dx = input_gradient(x, weight, dy, shape);
    if (ctx->needs_input_grad(1)) dw = weight_gradient(x, weight, dy, shape);
    if (ctx->saved_data["bias"].toBool() && ctx->needs_input_grad(2)) {
      db = column_sums(dy.view({-1, shape.out_channels}));
    }
    return {dx, dw, db, {}, {}, {}};
  }
};

// Backwards it is a convolution of kernel and stride 2, with the weight as it is published.
struct UpsampleConv : Function<UpsampleConv> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    const int64_t in = weight.size(0), out = weight.size(1);
    const at::Tensor panels = floats(upsample_packed_floats(in, out), weight);
    upsample_pack(weight.data_ptr<float>(), bias.data_ptr<float>(), in, out,
                  panels.data_ptr<float>());
    at::Tensor y = at::empty({x.size(0), 2 * x.size(1), 2 * x.size(2), out}, x.options());
    UpsampleConvArgs args;
    args.shape = {x.size(1), x.size(2), in, out};
    args.in = x.data_ptr<float>();
    args.in_stride = in;
    args.panels = panels.data_ptr<float>();
    args.last_row = y.numel() / out;
    args.out = y.data_ptr<float>();
    args.out_stride = out;
    vig::upsample_conv(args);
    ctx->save_for_backward({x, weight});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list tensors = ctx->get_saved_variables();
    const at::Tensor &x = tensors[0], &weight = tensors[1];
    const at::Tensor dy = grads[0].contiguous();
    const ConvShape shape = Conv::shape_of(dy, weight, {2, 2, 0, 1});
    at::Tensor dx, dw, db;
    if (ctx->needs_input_grad(0)) dx = Conv::run(dy, weight, {}, shape);
    if (ctx->needs_input_grad(1)) dw = Conv::weight_gradient(dy, weight, x, shape);
    if (ctx->needs_input_grad(2)) db = column_sums(dy.view({-1, weight.size(1)}));
    return {dx, dw, db};
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
    const DepthwiseConvOp op{static_cast<int>(weight.size(2)), static_cast<int>(stride),
                             static_cast<int>(padding)};
    ctx->save_for_backward({x, weight});
    save_windows(ctx, op, bias);
    return run(x, windows_of(x, op), taps_of(weight, false), bias);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list tensors = ctx->get_saved_variables();
    const at::Tensor &x = tensors[0], &weight = tensors[1];
    const at::Tensor dy = grads[0].contiguous();
    const int64_t channels = weight.size(0), kernel = weight.size(2);
    const DepthwiseConvOp op{static_cast<int>(kernel), saved(ctx, "stride"), saved(ctx, "padding")};
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

at::Tensor KernelOps::conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const ConvOp& op) {
  return Conv::apply(x.contiguous(), weight, maybe(bias), static_cast<int64_t>(op.stride),
                     static_cast<int64_t>(op.padding), static_cast<int64_t>(op.groups));
}

at::Tensor KernelOps::upsample_conv(const at::Tensor& x, const at::Tensor& weight,
                                    const at::Tensor& bias) {
  return UpsampleConv::apply(x.contiguous(), weight, bias);
}

at::Tensor KernelOps::depthwise_conv(const at::Tensor& x, const at::Tensor& weight,
                                     const at::Tensor& bias, const DepthwiseConvOp& op) {
  return DepthwiseConv::apply(x.contiguous(), weight, maybe(bias), static_cast<int64_t>(op.stride),
                              static_cast<int64_t>(op.padding));
}

}  // namespace vig::train
