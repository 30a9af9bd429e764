// The two-direction scan. Only its inputs are kept: gates and states are computed again.
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "vig/base/buffer.h"
#include "vig/kernels/backward/gla.h"
#include "vig/kernels/gla.h"
#include "vig/kernels/pointwise.h"
#include "vig/torch/kernel_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Where one head of one image lies in rows of [q | k | v] and of gates.
struct Scan {
  GlaOp op;
  int64_t batch, tokens, qkv_width, gate_width;

  Scan(const at::Tensor& qkv, const GlaOp& gla) : op(gla) {
    batch = qkv.size(0);
    tokens = qkv.size(1) * qkv.size(2);
    qkv_width = qkv.size(3);
    gate_width = gla_gate_channels(op);
  }
  bool forward() const { return op.direction != GlaDirection::kBackward; }
  bool backward() const { return op.direction != GlaDirection::kForward; }
  float scale() const {
    const float both = gla_directions(op) == 2 ? 0.5f : 1.0f;
    return both / std::sqrt(static_cast<float>(op.key_dim));
  }
  int64_t value_width() const { return static_cast<int64_t>(op.heads) * op.value_dim; }
  int64_t row(int64_t task) const { return task / op.heads * tokens; }
  int64_t head(int64_t task) const { return task % op.heads; }
  int64_t q(int64_t task) const { return row(task) * qkv_width + head(task) * op.key_dim; }
  int64_t k(int64_t task) const { return q(task) + static_cast<int64_t>(op.heads) * op.key_dim; }
  int64_t v(int64_t task) const {
    return row(task) * qkv_width + 2LL * op.heads * op.key_dim + head(task) * op.value_dim;
  }
  int64_t gate(int64_t task) const { return row(task) * gate_width + head(task) * op.key_dim; }
  int64_t gate_backward(int64_t task) const {
    return gate(task) + (op.direction == GlaDirection::kBoth ? op.heads * op.key_dim : 0);
  }
  int64_t o(int64_t task) const { return row(task) * value_width() + head(task) * op.value_dim; }
};

at::Tensor decay(const at::Tensor& logits) {
  at::Tensor alpha = at::empty_like(logits);
  const int64_t width = logits.size(-1);
  PointwiseArgs args;
  args.kind = {Elementwise::kDecay};
  args.a = {logits.data_ptr<float>(), width};
  args.out = alpha.data_ptr<float>();
  args.out_stride = args.channels = width;
  args.rows = logits.numel() / width;
  pointwise(args);
  return alpha;
}

struct Gla : Function<Gla> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& logits,
                            int64_t heads, int64_t key_dim, int64_t value_dim, int64_t direction) {
    const GlaOp op{static_cast<int>(heads), static_cast<int>(key_dim), static_cast<int>(value_dim),
                   static_cast<GlaDirection>(direction)};
    const Scan scan(qkv, op);
    const at::Tensor alpha = decay(logits);
    at::Tensor o =
        at::empty({qkv.size(0), qkv.size(1), qkv.size(2), scan.value_width()}, qkv.options());
    const float* in = qkv.data_ptr<float>();
    const float* gates = alpha.data_ptr<float>();
    Buffer state(gla_state_floats(key_dim, value_dim) * sizeof(float));
    for (int64_t task = 0; task < scan.batch * op.heads; ++task) {
      GlaArgs args;
      args.tokens = scan.tokens;
      args.key_dim = key_dim;
      args.value_dim = value_dim;
      args.q = in + scan.q(task);
      args.k = in + scan.k(task);
      args.v = in + scan.v(task);
      args.qkv_stride = scan.qkv_width;
      if (scan.forward()) args.alpha_forward = gates + scan.gate(task);
      if (scan.backward()) args.alpha_backward = gates + scan.gate_backward(task);
      args.alpha_stride = scan.gate_width;
      args.scale = scan.scale();
      args.o = o.data_ptr<float>() + scan.o(task);
      args.o_stride = scan.value_width();
      args.state = state.floats();
      vig::gla(args);
    }
    ctx->save_for_backward({qkv, logits});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["key_dim"] = key_dim;
    ctx->saved_data["value_dim"] = value_dim;
    ctx->saved_data["direction"] = direction;
    return o;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &qkv = saved[0], &logits = saved[1];
    const auto number = [&](const char* name) {
      return static_cast<int>(ctx->saved_data[name].toInt());
    };
    const GlaOp op{number("heads"), number("key_dim"), number("value_dim"),
                   static_cast<GlaDirection>(number("direction"))};
    const Scan scan(qkv, op);
    const at::Tensor alpha = decay(logits);
    const at::Tensor grad_o = grads[0].contiguous();
    at::Tensor dqkv = at::empty_like(qkv), dlogits = at::empty_like(logits);
    const float* in = qkv.data_ptr<float>();
    const float* gates = alpha.data_ptr<float>();
    float* to = dqkv.data_ptr<float>();
    float* dlog = dlogits.data_ptr<float>();
    Buffer scratch(gla_backward_scratch_floats(scan.tokens, op.key_dim, op.value_dim) *
                   sizeof(float));
    for (int64_t task = 0; task < scan.batch * op.heads; ++task) {
      GlaBackwardArgs args;
      args.tokens = scan.tokens;
      args.key_dim = op.key_dim;
      args.value_dim = op.value_dim;
      args.q = in + scan.q(task);
      args.k = in + scan.k(task);
      args.v = in + scan.v(task);
      args.qkv_stride = args.dqkv_stride = scan.qkv_width;
      if (scan.forward()) {
        args.alpha_forward = gates + scan.gate(task);
        args.dlog_alpha_forward = dlog + scan.gate(task);
      }
      if (scan.backward()) {
        args.alpha_backward = gates + scan.gate_backward(task);
        args.dlog_alpha_backward = dlog + scan.gate_backward(task);
      }
      args.alpha_stride = args.dlog_alpha_stride = scan.gate_width;
      args.scale = scan.scale();
      args.grad_o = grad_o.data_ptr<float>() + scan.o(task);
      args.grad_o_stride = scan.value_width();
      args.dq = to + scan.q(task);
      args.dk = to + scan.k(task);
      args.dv = to + scan.v(task);
      args.scratch = scratch.floats();
      gla_backward(args);
    }
    // log alpha = logsigmoid(z) / 16, so its slope is sigmoid(-z) / 16.
    dlogits.mul_(at::sigmoid(logits.neg())).mul_(1.0 / 16.0);
    return {dqkv, dlogits, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor KernelOps::gla(const at::Tensor& qkv, const at::Tensor& gates, const GlaOp& op) {
  return Gla::apply(qkv.contiguous(), gates.contiguous(), static_cast<int64_t>(op.heads),
                    static_cast<int64_t>(op.key_dim), static_cast<int64_t>(op.value_dim),
                    static_cast<int64_t>(op.direction));
}

}  // namespace vig::train
