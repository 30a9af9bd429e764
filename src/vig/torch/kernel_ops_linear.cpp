// Matrix products.
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "vig/kernels/backward/gemm.h"
#include "vig/kernels/gemm.h"
#include "vig/torch/column_sums.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/maybe_tensor.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

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

}  // namespace

at::Tensor KernelOps::linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& residual) {
  const at::Tensor added = residual.defined() ? residual.contiguous() : residual;
  return Linear::apply(x.contiguous(), weight, maybe(bias), maybe(added));
}

}  // namespace vig::train
