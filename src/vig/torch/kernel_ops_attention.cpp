// Softmax attention, of all tokens and in windows. Kept are the inputs, the result and the
// logarithm of each row's sum; logits and probabilities are computed again.
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

#include "vig/base/buffer.h"
#include "vig/kernels/attention.h"
#include "vig/kernels/backward/attention.h"
#include "vig/kernels/window_attention.h"
#include "vig/torch/kernel_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Where the heads of an image lie in rows of [q | k | v].
struct Heads {
  int64_t count, head_dim, batch, positions;

  Heads(const at::Tensor& qkv, int64_t heads)
      : count(heads),
        head_dim(qkv.size(3) / 3 / heads),
        batch(qkv.size(0)),
        positions(qkv.size(1) * qkv.size(2)) {}
  int64_t width() const { return count * head_dim; }

  AttentionArgs forward(const float* qkv, float* o, int64_t image, int64_t head) const {
    AttentionArgs args;
    args.tokens = positions;
    args.head_dim = head_dim;
    args.q = qkv + image * positions * 3 * width() + head * head_dim;
    args.k = args.q + width();
    args.v = args.k + width();
    args.qkv_stride = 3 * width();
    args.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    args.o = o + image * positions * width() + head * head_dim;
    args.o_stride = width();
    return args;
  }

  AttentionBackwardArgs backward(const AttentionArgs& forward, const float* grad_o, float* dqkv,
                                 int64_t image, int64_t head) const {
    AttentionBackwardArgs args;
    args.forward = forward;
    args.grad_o = grad_o + image * positions * width() + head * head_dim;
    args.grad_o_stride = width();
    args.dq = dqkv + image * positions * 3 * width() + head * head_dim;
    args.dk = args.dq + width();
    args.dv = args.dk + width();
    args.dqkv_stride = 3 * width();
    return args;
  }
};

// Memory of one call of the kernel, forward or backward.
struct Memory {
  explicit Memory(int64_t tokens, int64_t head_dim)
      : packed(attention_packed_floats(tokens, head_dim) * sizeof(float)),
        scratch(attention_scratch_floats(tokens, head_dim) * sizeof(float)) {}
  void attend(AttentionArgs& args) {
    args.packed = packed.floats();
    args.scratch = scratch.floats();
    attention_pack(args);
    vig::attention(args);
  }
  Buffer packed, scratch;
};

struct Attention : Function<Attention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, int64_t count) {
    const Heads heads(qkv, count);
    at::Tensor o = at::empty({qkv.size(0), qkv.size(1), qkv.size(2), heads.width()}, qkv.options());
    const at::Tensor lse = at::empty({heads.batch, count, heads.positions}, qkv.options());
    Memory memory(heads.positions, heads.head_dim);
    for (int64_t task = 0; task < heads.batch * count; ++task) {
      AttentionArgs args =
          heads.forward(qkv.data_ptr<float>(), o.data_ptr<float>(), task / count, task % count);
      args.lse = lse.data_ptr<float>() + task * heads.positions;
      memory.attend(args);
    }
    ctx->save_for_backward({qkv, o, lse});
    ctx->saved_data["heads"] = count;
    return o;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &qkv = saved[0], &o = saved[1], &lse = saved[2];
    const int64_t count = ctx->saved_data["heads"].toInt();
    const Heads heads(qkv, count);
    const at::Tensor grad_o = grads[0].contiguous();
    at::Tensor dqkv = at::empty_like(qkv);
    Buffer scratch(attention_backward_scratch_floats(heads.positions, heads.head_dim) *
                   sizeof(float));
    for (int64_t task = 0; task < heads.batch * count; ++task) {
      const int64_t image = task / count, head = task % count;
      AttentionArgs forward =
          heads.forward(qkv.data_ptr<float>(), o.data_ptr<float>(), image, head);
      forward.lse = lse.data_ptr<float>() + task * heads.positions;
      AttentionBackwardArgs args =
          heads.backward(forward, grad_o.data_ptr<float>(), dqkv.data_ptr<float>(), image, head);
      args.scratch = scratch.floats();
      attention_backward(args);
    }
    return {dqkv, {}};
  }
};

// The windows of a map with their tokens, the bias of their positions and the padded token.
class WindowLayer {
 public:
  WindowLayer(const at::Tensor& qkv, const at::Tensor& table, const at::Tensor& bias,
              const WindowAttentionOp& op)
      : heads(qkv, op.heads),
        windows{qkv.size(1),
                qkv.size(2),
                op.window_height,
                op.window_width,
                window_shift(static_cast<int>(qkv.size(1)), op.window_height, op.shifted),
                window_shift(static_cast<int>(qkv.size(2)), op.window_width, op.shifted)},
        pad_(bias.data_ptr<float>()),
        rows_(static_cast<size_t>(windows.count() * tokens())),
        labels_(rows_.size()),
        bias_(static_cast<size_t>(op.heads * tokens() * tokens())) {
    for (int64_t w = 0; w < windows.count(); ++w) {
      window_tokens(windows, w, rows_.data() + w * tokens(), labels_.data() + w * tokens());
    }
    relative_bias(table.data_ptr<float>(), windows.window_height, windows.window_width, op.heads,
                  bias_.data());
  }
  int64_t tokens() const { return windows.tokens(); }
  int64_t tasks() const { return heads.batch * windows.count() * heads.count; }
  int64_t head(int64_t task) const { return task % heads.count; }
  int64_t image(int64_t task) const { return task / heads.count / windows.count(); }

  AttentionArgs forward(const at::Tensor& qkv, const at::Tensor& o, const at::Tensor& lse,
                        int64_t task) const {
    const int64_t window = task / heads.count % windows.count(), n = tokens();
    AttentionArgs args =
        heads.forward(qkv.data_ptr<float>(), o.data_ptr<float>(), image(task), head(task));
    args.tokens = n;
    args.rows = rows_.data() + window * n;
    args.labels = labels_.data() + window * n;
    args.pad_k = pad_ + heads.width() + head(task) * heads.head_dim;
    args.pad_v = args.pad_k + heads.width();
    args.bias = bias_.data() + head(task) * n * n;
    args.bias_stride = n;
    args.lse = lse.data_ptr<float>() + task * n;
    return args;
  }

  const Heads heads;
  const AttentionWindows windows;

 private:
  const float* pad_;
  std::vector<int32_t> rows_, labels_;
  std::vector<float> bias_;
};

struct WindowAttention : Function<WindowAttention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const at::Tensor& table,
                            const at::Tensor& bias, int64_t heads, int64_t window_height,
                            int64_t window_width, bool shifted) {
    const WindowAttentionOp op{static_cast<int>(heads), static_cast<int>(window_height),
                               static_cast<int>(window_width), shifted};
    const WindowLayer layer(qkv, table, bias, op);
    at::Tensor o =
        at::empty({qkv.size(0), qkv.size(1), qkv.size(2), layer.heads.width()}, qkv.options());
    // Rows of padded queries are never written.
    const at::Tensor lse = at::zeros({layer.tasks(), layer.tokens()}, qkv.options());
    Memory memory(layer.tokens(), layer.heads.head_dim);
    for (int64_t task = 0; task < layer.tasks(); ++task) {
      AttentionArgs args = layer.forward(qkv, o, lse, task);
      memory.attend(args);
    }
    ctx->save_for_backward({qkv, table, bias, o, lse});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["window_height"] = window_height;
    ctx->saved_data["window_width"] = window_width;
    ctx->saved_data["shifted"] = shifted;
    return o;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &qkv = saved[0], &table = saved[1], &bias = saved[2];
    const auto number = [&](const char* name) {
      return static_cast<int>(ctx->saved_data[name].toInt());
    };
    const WindowAttentionOp op{number("heads"), number("window_height"), number("window_width"),
                               ctx->saved_data["shifted"].toBool()};
    const WindowLayer layer(qkv, table, bias, op);
    const Heads& heads = layer.heads;
    const int64_t n = layer.tokens(), width = heads.width();
    const at::Tensor grad_o = grads[0].contiguous();
    at::Tensor dqkv = at::empty_like(qkv), dtable = at::empty_like(table);
    at::Tensor dbias = at::zeros_like(bias);
    std::vector<float> dlogits(static_cast<size_t>(op.heads * n * n), 0.0f);
    std::vector<float> dpad(static_cast<size_t>(2 * heads.head_dim));
    Buffer scratch(attention_backward_scratch_floats(n, heads.head_dim) * sizeof(float));
    for (int64_t task = 0; task < layer.tasks(); ++task) {
      const int64_t head = layer.head(task);
      AttentionBackwardArgs args =
          heads.backward(layer.forward(qkv, saved[3], saved[4], task), grad_o.data_ptr<float>(),
                         dqkv.data_ptr<float>(), layer.image(task), head);
      args.dpad_k = dpad.data();
      args.dpad_v = dpad.data() + heads.head_dim;
      args.dbias = dlogits.data() + head * n * n;
      args.dbias_stride = n;
      args.scratch = scratch.floats();
      attention_backward(args);
      float* const to = dbias.data_ptr<float>() + width + head * heads.head_dim;
      for (int64_t c = 0; c < heads.head_dim; ++c) {
        to[c] += args.dpad_k[c];
        to[width + c] += args.dpad_v[c];
      }
    }
    relative_bias_backward(dlogits.data(), op.window_height, op.window_width, op.heads,
                           dtable.data_ptr<float>());
    return {dqkv, dtable, dbias, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor KernelOps::attention(const at::Tensor& qkv, const AttentionOp& op) {
  return Attention::apply(qkv.contiguous(), static_cast<int64_t>(op.heads));
}

at::Tensor KernelOps::window_attention(const at::Tensor& qkv, const at::Tensor& table,
                                       const at::Tensor& bias, const WindowAttentionOp& op) {
  return WindowAttention::apply(
      qkv.contiguous(), table.contiguous(), bias.contiguous(), static_cast<int64_t>(op.heads),
      static_cast<int64_t>(op.window_height), static_cast<int64_t>(op.window_width), op.shifted);
}

}  // namespace vig::train
