// The long convolution of S4. Only inputs are kept.
#include <torch/csrc/autograd/custom_function.h>

#include "vig/base/buffer.h"
#include "vig/kernels/backward/long_conv.h"
#include "vig/torch/kernel_ops.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// x [B, T, d], taps [copies, rows, d], y [B, T, copies * d].
struct LongConv : Function<LongConv> {
  // Packed taps of every copy.
  struct Packed {
    int64_t past, future, floats;
    Buffer buffer;

    Packed(const at::Tensor& taps, int64_t past_rows)
        : past(past_rows),
          future(taps.size(1) - past_rows),
          floats(static_cast<int64_t>(long_conv_packed_floats(past, future, taps.size(2)))),
          buffer(static_cast<size_t>(taps.size(0) * floats) * sizeof(float)) {
      for (int64_t m = 0; m < taps.size(0); ++m) {
        const float* rows = taps.data_ptr<float>() + m * taps.size(1) * taps.size(2);
        long_conv_pack({rows, taps.size(2), past, future}, taps.size(2), copy(m));
      }
    }
    float* copy(int64_t m) { return buffer.floats() + m * floats; }
  };

  // One sequence by the taps of copy m.
  static void convolve(Packed& packed, int64_t m, LongConvArgs args) {
    args.past = packed.past;
    args.future = packed.future;
    args.packed = packed.copy(m);
    vig::long_conv(args);
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& taps,
                            int64_t past) {
    const int64_t copies = taps.size(0), channels = x.size(2);
    at::Tensor y = at::empty({x.size(0), x.size(1), copies * channels}, x.options());
    Packed packed(taps, past);
    Buffer scratch(long_conv_floats(x.size(1)) * sizeof(float));
    LongConvArgs args;
    args.tokens = x.size(1);
    args.channels = args.in_stride = channels;
    args.out_stride = copies * channels;
    args.scratch = scratch.floats();
    for (int64_t i = 0; i < x.size(0); ++i) {
      args.in = x.data_ptr<float>() + i * args.tokens * channels;
      for (int64_t m = 0; m < copies; ++m) {
        args.out = y.data_ptr<float>() + i * args.tokens * args.out_stride + m * channels;
        convolve(packed, m, args);
      }
    }
    ctx->save_for_backward({x, taps});
    ctx->saved_data["past"] = past;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &taps = saved[1], dy = grads[0].contiguous();
    const int64_t past = ctx->saved_data["past"].toInt(), future = taps.size(1) - past;
    const int64_t copies = taps.size(0), tokens = x.size(1), channels = x.size(2);
    // dx is the convolution of dy by the turned taps, summed over copies in their order.
    at::Tensor turned = at::empty_like(taps), dtaps = at::zeros_like(taps);
    for (int64_t m = 0; m < copies; ++m) {
      const int64_t at = m * taps.size(1) * channels;
      long_conv_turned_taps({taps.data_ptr<float>() + at, channels, past, future}, channels,
                            turned.data_ptr<float>() + at);
    }
    Packed packed(turned, future + 1);
    at::Tensor dx = at::zeros_like(x), part = at::empty({tokens, channels}, x.options());
    Buffer scratch(long_conv_taps_floats(tokens) * sizeof(float));
    LongConvArgs conv;
    conv.tokens = tokens;
    conv.channels = conv.out_stride = channels;
    conv.in_stride = copies * channels;
    conv.out = part.data_ptr<float>();
    conv.scratch = scratch.floats();
    LongConvTapsArgs sums;
    sums.tokens = tokens;
    sums.channels = sums.in_stride = sums.dtaps_stride = channels;
    sums.dy_stride = copies * channels;
    sums.past = past;
    sums.future = future;
    sums.scratch = scratch.floats();
    for (int64_t i = 0; i < x.size(0); ++i) {
      sums.in = x.data_ptr<float>() + i * tokens * channels;
      for (int64_t m = 0; m < copies; ++m) {
        sums.dy = conv.in = dy.data_ptr<float>() + i * tokens * sums.dy_stride + m * channels;
        sums.dtaps = dtaps.data_ptr<float>() + m * taps.size(1) * channels;
        convolve(packed, m, conv);
        dx[i].add_(part);
        long_conv_taps_backward(sums);
      }
    }
    return {dx, dtaps, {}};
  }
};

}  // namespace

at::Tensor KernelOps::long_conv(const at::Tensor& x, const at::Tensor& taps, int64_t past) {
  const at::Tensor y = LongConv::apply(x.flatten(1, 2).contiguous(), taps.contiguous(), past);
  return y.view({x.size(0), x.size(1), x.size(2), y.size(2)});
}

}  // namespace vig::train
