// Norms, elementwise work and the position table.
#include <torch/csrc/autograd/custom_function.h>

#include "vig/base/error.h"
#include "vig/kernels/backward/norm.h"
#include "vig/kernels/backward/pointwise.h"
#include "vig/kernels/norm.h"
#include "vig/kernels/pointwise.h"
#include "vig/kernels/position.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/maybe_tensor.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

int64_t row_count(const at::Tensor& x) { return x.numel() / x.size(-1); }

Rows rows_of(const at::Tensor& x) { return {x.data_ptr<float>(), x.size(-1)}; }

// LayerNorm with a bias, RMSNorm without.
struct Norm : Function<Norm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias, double eps, int64_t groups) {
    at::Tensor y = at::empty_like(x);
    const int64_t channels = x.size(-1);
    NormArgs args;
    args.in = x.data_ptr<float>();
    args.out = y.data_ptr<float>();
    args.in_stride = args.out_stride = channels;
    args.rows = row_count(x);
    args.channels = channels;
    args.eps = static_cast<float>(eps);
    args.weight = weight.data_ptr<float>();
    args.groups = groups;
    if (bias.has_value()) {
      args.bias = bias->data_ptr<float>();
      vig::layer_norm(args);
    } else {
      vig::rms_norm(args);
    }
    ctx->save_for_backward({x, weight});
    ctx->saved_data["bias"] = bias.has_value();
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["groups"] = groups;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const bool bias = ctx->saved_data["bias"].toBool();
    const float eps = static_cast<float>(ctx->saved_data["eps"].toDouble());
    const int64_t groups = ctx->saved_data["groups"].toInt();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    const int64_t channels = x.size(-1), width = weight.numel();
    at::Tensor sums = at::zeros({bias ? 2 : 1, width}, x.options());
    NormBackwardArgs args;
    args.in = x.data_ptr<float>();
    args.dy = dy.data_ptr<float>();
    args.dx = dx.data_ptr<float>();
    args.in_stride = args.dy_stride = args.dx_stride = channels;
    args.rows = row_count(x);
    args.channels = channels;
    args.eps = eps;
    args.weight = weight.data_ptr<float>();
    args.dweight = sums.data_ptr<float>();
    args.groups = groups;
    if (bias) {
      args.dbias = args.dweight + width;
      layer_norm_backward(args);
    } else {
      rms_norm_backward(args);
    }
    return {dx, sums[0], bias ? sums[1] : at::Tensor(), {}, {}};
  }
};

struct Activation : Function<Activation> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, int64_t function) {
    at::Tensor y = at::empty_like(x);
    PointwiseArgs args;
    args.kind.function = static_cast<Elementwise>(function);
    args.a = rows_of(x);
    args.out = y.data_ptr<float>();
    args.out_stride = args.channels = x.size(-1);
    args.rows = row_count(x);
    pointwise(args);
    ctx->save_for_backward({x});
    ctx->saved_data["function"] = function;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    PointwiseBackwardArgs args;
    args.kind.function = static_cast<Elementwise>(ctx->saved_data["function"].toInt());
    args.a = rows_of(x);
    args.dy = rows_of(dy);
    args.da = dx.data_ptr<float>();
    args.da_stride = args.channels = x.size(-1);
    args.rows = row_count(x);
    pointwise_backward(args);
    return {dx, {}};
  }
};

struct SwiGlu : Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    const int64_t m = x.size(-1) / 2;
    std::vector<int64_t> sizes = x.sizes().vec();
    sizes.back() = m;
    at::Tensor y = at::empty(sizes, x.options());
    PointwiseArgs args;
    args.kind = kSwiGlu;
    args.a = rows_of(x);
    args.b = {args.a.data + m, args.a.stride};
    args.out = y.data_ptr<float>();
    args.out_stride = args.channels = m;
    args.rows = row_count(x);
    pointwise(args);
    ctx->save_for_backward({x});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const at::Tensor dy = grads[0].contiguous();
    const int64_t m = dy.size(-1);
    at::Tensor dx = at::empty_like(x);
    PointwiseBackwardArgs args;
    args.kind = kSwiGlu;
    args.a = rows_of(x);
    args.b = {args.a.data + m, args.a.stride};
    args.dy = rows_of(dy);
    args.da = dx.data_ptr<float>();
    args.db = args.da + m;
    args.da_stride = args.db_stride = 2 * m;
    args.channels = m;
    args.rows = row_count(x);
    pointwise_backward(args);
    return {dx};
  }
};

struct Scale : Function<Scale> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight) {
    ctx->save_for_backward({x, weight});
    return x * weight;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    const int64_t channels = x.size(-1);
    at::Tensor dw = at::zeros({channels}, x.options());
    ScaleBackwardArgs args;
    args.x = rows_of(x);
    args.dy = rows_of(dy);
    args.weight = weight.data_ptr<float>();
    args.dx = dx.data_ptr<float>();
    args.dx_stride = args.channels = channels;
    args.dweight = dw.data_ptr<float>();
    args.rows = row_count(x);
    scale_backward(args);
    return {dx, dw};
  }
};

struct GatedMix : Function<GatedMix> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& o,
                            const at::Tensor& local, const MaybeTensor& o_weight,
                            const MaybeTensor& local_weight, double eps, int64_t heads, bool silu) {
    at::Tensor y = at::empty_like(gate);
    const int64_t channels = gate.size(-1);
    GatedMixArgs args;
    args.gate = rows_of(gate);
    args.o = rows_of(o);
    args.local = rows_of(local);
    if (o_weight.has_value()) args.o_weight = o_weight->data_ptr<float>();
    if (local_weight.has_value()) args.local_weight = local_weight->data_ptr<float>();
    args.eps = static_cast<float>(eps);
    args.heads = heads;
    args.silu = silu;
    args.out = y.data_ptr<float>();
    args.out_stride = args.channels = channels;
    args.rows = row_count(gate);
    vig::gated_mix(args);
    ctx->save_for_backward(
        {gate, o, local, o_weight.value_or(at::Tensor()), local_weight.value_or(at::Tensor())});
    ctx->saved_data["eps"] = eps;
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["silu"] = silu;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &o = saved[1], &local = saved[2];
    const at::Tensor &o_weight = saved[3], &local_weight = saved[4];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dgate = at::empty_like(gate), d_o = at::empty_like(o),
               dlocal = at::empty_like(local);
    const int64_t channels = gate.size(-1), heads = ctx->saved_data["heads"].toInt();
    const int64_t width = channels / heads;
    at::Tensor sums = at::zeros({2, width}, gate.options());
    GatedMixBackwardArgs args;
    args.gate = rows_of(gate);
    args.o = rows_of(o);
    args.local = rows_of(local);
    if (o_weight.defined()) args.o_weight = o_weight.data_ptr<float>();
    if (local_weight.defined()) args.local_weight = local_weight.data_ptr<float>();
    args.eps = static_cast<float>(ctx->saved_data["eps"].toDouble());
    args.heads = heads;
    args.silu = ctx->saved_data["silu"].toBool();
    args.dy = rows_of(dy);
    args.dgate = dgate.data_ptr<float>();
    args.d_o = d_o.data_ptr<float>();
    args.dlocal = dlocal.data_ptr<float>();
    args.dgate_stride = args.d_o_stride = args.dlocal_stride = args.channels = channels;
    args.do_weight = sums.data_ptr<float>();
    args.dlocal_weight = args.do_weight + width;
    args.rows = row_count(gate);
    gated_mix_backward(args);
    return {dgate,
            d_o,
            dlocal,
            o_weight.defined() ? sums[0] : at::Tensor(),
            local_weight.defined() ? sums[1] : at::Tensor(),
            {},
            {},
            {}};
  }
};

// The table on another grid.
struct ResizePosition : Function<ResizePosition> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& table, int64_t rows,
                            int64_t cols, int64_t out_rows, int64_t out_cols) {
    const int64_t channels = table.size(-1);
    at::Tensor out = at::empty({1, out_rows, out_cols, channels}, table.options());
    resize_positions(
        {table.data_ptr<float>(), rows, cols, channels, out.data_ptr<float>(), out_rows, out_cols});
    ctx->saved_data["rows"] = rows;
    ctx->saved_data["cols"] = cols;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor dy = grads[0].contiguous();
    const int64_t rows = ctx->saved_data["rows"].toInt(), cols = ctx->saved_data["cols"].toInt();
    const int64_t channels = dy.size(-1);
    at::Tensor dtable = at::empty({1, rows * cols, channels}, dy.options());
    PositionBackwardArgs args;
    args.dout = dy.data_ptr<float>();
    args.out_rows = dy.size(1);
    args.out_cols = dy.size(2);
    args.channels = channels;
    args.dtable = dtable.data_ptr<float>();
    args.rows = rows;
    args.cols = cols;
    resize_positions_backward(args);
    return {dtable, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor KernelOps::layer_norm(const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias, float eps) {
  return Norm::apply(x.contiguous(), weight, maybe(bias), static_cast<double>(eps),
                     static_cast<int64_t>(1));
}

at::Tensor KernelOps::rms_norm(const at::Tensor& x, const at::Tensor& weight, float eps,
                               int groups) {
  return Norm::apply(x.contiguous(), weight, MaybeTensor(), static_cast<double>(eps),
                     static_cast<int64_t>(groups));
}

at::Tensor KernelOps::activation(const at::Tensor& x, Elementwise function) {
  return Activation::apply(x.contiguous(), static_cast<int64_t>(function));
}

at::Tensor KernelOps::scale(const at::Tensor& x, const at::Tensor& weight) {
  return Scale::apply(x.contiguous(), weight);
}

at::Tensor KernelOps::resize_position(const at::Tensor& table, const AddPositionOp& op) {
  if (op.height == op.rows && op.width == op.cols) return table.view({1, op.rows, op.cols, -1});
  return ResizePosition::apply(table.contiguous(), static_cast<int64_t>(op.rows),
                               static_cast<int64_t>(op.cols), static_cast<int64_t>(op.height),
                               static_cast<int64_t>(op.width));
}

at::Tensor KernelOps::swiglu(const at::Tensor& x) { return SwiGlu::apply(x.contiguous()); }

at::Tensor KernelOps::gated_mix(const Mix& mix) {
  return GatedMix::apply(mix.gate.contiguous(), mix.o.contiguous(), mix.local.contiguous(),
                         maybe(mix.o_weight), maybe(mix.local_weight), static_cast<double>(mix.eps),
                         static_cast<int64_t>(mix.heads), mix.silu);
}

}  // namespace vig::train
