// Causal convolution, selective scan, token shift and bidirectional WKV. Only inputs are kept: what
// is computed in between is computed again.
#include <torch/csrc/autograd/custom_function.h>

#include "vig/base/buffer.h"
#include "vig/graph/scan_path.h"
#include "vig/kernels/backward/conv1d.h"
#include "vig/kernels/backward/selective_scan.h"
#include "vig/kernels/backward/wkv.h"
#include "vig/kernels/q_shift.h"
#include "vig/torch/kernel_ops.h"
#include "vig/torch/maybe_tensor.h"

namespace vig::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

int64_t token_count(const at::Tensor& x) { return x.size(1) * x.size(2); }

// Floats from channel `first` on of the rows of image i, by `index` if there is one.
template <class T>
BasicSequence<T> sequence(const at::Tensor& x, int64_t i, int64_t first,
                          const int32_t* index = nullptr) {
  return {x.data_ptr<float>() + i * token_count(x) * x.size(3) + first, x.size(3), index};
}

struct Conv1d : Function<Conv1d> {
  // What the forward call and its gradient have in common.
  struct Call {
    std::vector<int32_t> order, targets;
    Conv1dArgs args;

    // `integers`: first channel, order, backward, part, ordered, token, columns.
    Call(const at::Tensor& x, const at::Tensor& taps, const std::vector<int64_t>& integers) {
      const ScanPath path{static_cast<ScanOrder>(integers[1]), integers[2] != 0,
                          static_cast<int>(integers[3]), static_cast<int>(integers[5]),
                          static_cast<int>(integers[6])};
      order = scan_rows(path, static_cast<int>(x.size(1)), static_cast<int>(x.size(2)));
      targets = order;
      if (integers[4] != 0) {
        for (size_t n = 0; n < targets.size(); ++n) targets[n] = static_cast<int32_t>(n);
      }
      args.width = taps.size(0);
      args.channels = args.taps_stride = taps.size(1);
      args.taps = taps.data_ptr<float>();
      args.last = static_cast<int64_t>(order.size());
    }
  };

  // taps [width, channels].
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& taps,
                            const at::Tensor& bias, const std::vector<int64_t>& integers) {
    Call call(x, taps, integers);
    const bool ordered = integers[4] != 0;
    at::Tensor y = at::empty(
        {x.size(0), ordered ? 1 : x.size(1), ordered ? call.args.last : x.size(2), taps.size(1)},
        x.options());
    call.args.bias = bias.data_ptr<float>();
    for (int64_t i = 0; i < x.size(0); ++i) {
      call.args.in = sequence<const float>(x, i, integers[0], call.order.data());
      call.args.out = sequence<float>(y, i, 0, call.targets.data());
      vig::conv1d(call.args);
    }
    ctx->save_for_backward({x, taps, bias});
    ctx->saved_data["integers"] = integers;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &taps = saved[1];
    const std::vector<int64_t> integers = ctx->saved_data["integers"].toIntVector();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::zeros_like(x), dtaps = at::zeros_like(taps);
    at::Tensor dbias = at::zeros_like(saved[2]);
    Call call(x, taps, integers);
    Conv1dBackwardArgs args;
    args.conv = call.args;
    args.conv.bias = saved[2].data_ptr<float>();
    args.dtaps = dtaps.data_ptr<float>();
    args.dtaps_stride = taps.size(1);
    args.dbias = dbias.data_ptr<float>();
    for (int64_t i = 0; i < x.size(0); ++i) {
      args.conv.in = sequence<const float>(x, i, integers[0], call.order.data());
      args.dy = sequence<const float>(dy, i, 0, call.targets.data());
      args.dx = sequence<float>(dx, i, integers[0], call.order.data());
      conv1d_backward(args);
    }
    return {dx, dtaps, dbias, {}};
  }
};

// One direction. a_log [E, N], d [E], bias [E], moves [5, N] if there are any.
struct SelectiveScan : Function<SelectiveScan> {
  // The operation and which of its directions, as integers that autograd keeps.
  static std::vector<int64_t> integers_of(const KernelOps::Scan& scan) {
    const ScanDirection& direction = scan.op->directions[scan.direction];
    return {static_cast<int64_t>(direction.path.order),
            direction.path.backward,
            direction.path.part,
            direction.step_first,
            direction.rate_first,
            static_cast<int64_t>(scan.op->taking),
            scan.op->released_columns,
            scan.height,
            scan.width,
            direction.u_first,
            direction.path.token,
            direction.path.columns};
  }

  struct Call {
    SelectiveScanOp op;
    ScanDirection direction;
    int height, width;
    std::vector<int32_t> tokens, others, targets, moves;
    std::vector<float> rates;
    SelectiveScanArgs args;

    Call(const std::vector<int64_t>& integers, const at::Tensor& a_log, const at::Tensor& d,
         const at::Tensor& bias, const MaybeTensor& added) {
      direction.path = {static_cast<ScanOrder>(integers[0]), integers[1] != 0,
                        static_cast<int>(integers[2]), static_cast<int>(integers[10]),
                        static_cast<int>(integers[11])};
      direction.step_first = static_cast<int>(integers[3]);
      direction.rate_first = static_cast<int>(integers[4]);
      op.taking = static_cast<SelectiveScanOp::Taking>(integers[5]);
      op.released_columns = integers[6] != 0;
      height = static_cast<int>(integers[7]);
      width = static_cast<int>(integers[8]);
      direction.u_first = static_cast<int>(integers[9]);
      tokens = scan_sources(op, direction.path, height, width, true);
      others = scan_sources(op, direction.path, height, width, false);
      targets = scan_targets(op, direction.path, height, width);
      args.tokens = static_cast<int64_t>(tokens.size());
      args.channels = args.rates_stride = a_log.size(0);
      args.states = a_log.size(1);
      rates.resize(static_cast<size_t>(a_log.numel()));
      selective_scan_rates(a_log.data_ptr<float>(), args.channels, args.states, rates.data());
      args.rates = rates.data();
      args.d = d.data_ptr<float>();
      args.bias = bias.data_ptr<float>();
      if (!added.has_value()) return;
      moves = scan_moves(direction.path, height, width);
      args.b_added = {added->data_ptr<float>(), args.states, moves.data()};
    }
    void set_image(const at::Tensor& u, const at::Tensor& steps, const at::Tensor& bc, int64_t i) {
      args.u = sequence<const float>(u, i, direction.u_first, tokens.data());
      args.raw = sequence<const float>(steps, i, direction.step_first, others.data());
      args.b = sequence<const float>(bc, i, direction.rate_first, others.data());
      args.c = sequence<const float>(bc, i, direction.rate_first + args.states, others.data());
    }
  };

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& u, const at::Tensor& steps,
                            const at::Tensor& bc, const at::Tensor& a_log, const at::Tensor& d,
                            const at::Tensor& bias, const MaybeTensor& added,
                            const std::vector<int64_t>& integers) {
    Call call(integers, a_log, d, bias, added);
    // A path may leave positions out.
    at::Tensor y = at::zeros({u.size(0), call.height, call.width, a_log.size(0)}, u.options());
    Buffer state(selective_scan_state_floats(call.args.channels, call.args.states) * sizeof(float));
    call.args.state = state.floats();
    for (int64_t i = 0; i < u.size(0); ++i) {
      call.set_image(u, steps, bc, i);
      call.args.y = sequence<float>(y, i, 0, call.targets.data());
      vig::selective_scan(call.args);
    }
    variable_list kept = {u, steps, bc, a_log, d, bias};
    if (added.has_value()) kept.push_back(*added);
    ctx->save_for_backward(kept);
    ctx->saved_data["integers"] = integers;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &u = saved[0], &steps = saved[1], &bc = saved[2], &a_log = saved[3];
    const MaybeTensor added = saved.size() > 6 ? MaybeTensor(saved[6]) : MaybeTensor();
    Call call(ctx->saved_data["integers"].toIntVector(), a_log, saved[4], saved[5], added);
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor du = at::zeros_like(u), dsteps = at::zeros_like(steps), dbc = at::zeros_like(bc);
    at::Tensor dd = at::zeros_like(saved[4]), dbias = at::zeros_like(saved[5]), dadded;
    const int64_t channels = call.args.channels, states = call.args.states;
    at::Tensor da_log = at::zeros({states, channels}, u.options());
    Buffer scratch(selective_scan_backward_floats(call.args.tokens, channels, states) *
                   sizeof(float));
    SelectiveScanBackwardArgs args;
    args.dbias = dbias.data_ptr<float>();
    args.da_log = da_log.data_ptr<float>();
    args.da_log_stride = channels;
    args.dd = dd.data_ptr<float>();
    args.scratch = scratch.floats();
    if (added.has_value()) {
      dadded = at::zeros_like(*added);
      args.db_added = {dadded.data_ptr<float>(), states, call.moves.data()};
    }
    for (int64_t i = 0; i < u.size(0); ++i) {
      call.set_image(u, steps, bc, i);
      args.scan = call.args;
      args.dy = sequence<const float>(dy, i, 0, call.targets.data());
      args.du = sequence<float>(du, i, call.direction.u_first, call.tokens.data());
      args.draw = sequence<float>(dsteps, i, call.direction.step_first, call.others.data());
      args.db = sequence<float>(dbc, i, call.direction.rate_first, call.others.data());
      args.dc = sequence<float>(dbc, i, call.direction.rate_first + states, call.others.data());
      selective_scan_backward(args);
    }
    return {du, dsteps, dbc, da_log.t().contiguous(), dd, dbias, dadded, {}};
  }
};

// mixes [count, C]; the results stand one beside the other.
struct QShift : Function<QShift> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& mixes) {
    const int64_t channels = x.size(3), count = mixes.size(0);
    at::Tensor y = at::empty(with_channels(x, count * channels), x.options());
    QShiftArgs args;
    args.in_stride = args.channels = channels;
    args.height = x.size(1);
    args.width = x.size(2);
    args.last_row = token_count(x);
    args.mixes = static_cast<int>(count);
    args.out_stride = count * channels;
    for (int64_t i = 0; i < x.size(0); ++i) {
      args.in = x.data_ptr<float>() + i * args.last_row * channels;
      for (int64_t n = 0; n < count; ++n) {
        args.mix[n] = mixes.data_ptr<float>() + n * channels;
        args.out[n] = y.data_ptr<float>() + i * args.last_row * args.out_stride + n * channels;
      }
      q_shift_mix(args);
    }
    ctx->save_for_backward({x, mixes});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &mixes = saved[1];
    const at::Tensor dy = grads[0].contiguous();
    const int64_t channels = x.size(3), count = mixes.size(0);
    at::Tensor dx = at::empty_like(x), dmixes = at::zeros_like(mixes);
    QShiftBackwardArgs args;
    args.in_stride = args.dx_stride = args.channels = channels;
    args.height = x.size(1);
    args.width = x.size(2);
    args.last_row = token_count(x);
    args.mixes = static_cast<int>(count);
    args.dout_stride = count * channels;
    for (int64_t i = 0; i < x.size(0); ++i) {
      args.in = x.data_ptr<float>() + i * args.last_row * channels;
      args.dx = dx.data_ptr<float>() + i * args.last_row * channels;
      for (int64_t n = 0; n < count; ++n) {
        args.mix[n] = mixes.data_ptr<float>() + n * channels;
        args.dout[n] = dy.data_ptr<float>() + i * args.last_row * args.dout_stride + n * channels;
        args.dmix[n] = dmixes.data_ptr<float>() + n * channels;
      }
      q_shift_mix_backward(args);
    }
    return {dx, dmixes};
  }
};

struct BiWkv : Function<BiWkv> {
  static WkvArgs args_of(const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                         const at::Tensor& first, bool released, int64_t i) {
    WkvArgs args;
    args.tokens = token_count(k);
    args.channels = args.k_stride = args.v_stride = args.y_stride = k.size(3);
    args.k = k.data_ptr<float>() + i * args.tokens * args.channels;
    args.v = v.data_ptr<float>() + i * args.tokens * args.channels;
    args.decay = decay.data_ptr<float>();
    args.first = first.data_ptr<float>();
    args.released = released;
    return args;
  }

  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& first, bool released) {
    at::Tensor y = at::empty_like(k);
    Buffer scratch(wkv_scratch_floats(token_count(k)) * sizeof(float));
    for (int64_t i = 0; i < k.size(0); ++i) {
      WkvArgs args = args_of(k, v, decay, first, released, i);
      args.y = y.data_ptr<float>() + i * args.tokens * args.channels;
      args.scratch = scratch.floats();
      wkv(args);
    }
    ctx->save_for_backward({k, v, decay, first});
    ctx->saved_data["released"] = released;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &k = saved[0], &v = saved[1], &decay = saved[2], &first = saved[3];
    const bool released = ctx->saved_data["released"].toBool();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dk = at::empty_like(k), dv = at::empty_like(v);
    at::Tensor ddecay = at::zeros_like(decay), dfirst = at::zeros_like(first);
    Buffer scratch(wkv_backward_floats(token_count(k)) * sizeof(float));
    for (int64_t i = 0; i < k.size(0); ++i) {
      WkvBackwardArgs args;
      args.wkv = args_of(k, v, decay, first, released, i);
      const int64_t at = i * args.wkv.tokens * args.wkv.channels;
      args.dy = dy.data_ptr<float>() + at;
      args.dk = dk.data_ptr<float>() + at;
      args.dv = dv.data_ptr<float>() + at;
      args.dy_stride = args.dk_stride = args.dv_stride = args.wkv.channels;
      args.ddecay = ddecay.data_ptr<float>();
      args.dfirst = dfirst.data_ptr<float>();
      args.scratch = scratch.floats();
      wkv_backward(args);
    }
    return {dk, dv, ddecay, dfirst, {}};
  }
};

}  // namespace

at::Tensor KernelOps::conv1d(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const Conv1dOp& op) {
  const at::Tensor taps = weight.squeeze(1).t().contiguous();
  const std::vector<int64_t> integers = {op.first,         static_cast<int64_t>(op.path.order),
                                         op.path.backward, op.path.part,
                                         op.ordered,       op.path.token,
                                         op.path.columns};
  return Conv1d::apply(x.contiguous(), taps, bias, integers);
}

at::Tensor KernelOps::selective_scan(const Scan& scan) {
  return SelectiveScan::apply(scan.u.contiguous(), scan.steps.contiguous(), scan.rates.contiguous(),
                              scan.a_log.contiguous(), scan.d.contiguous(), scan.bias.contiguous(),
                              maybe(scan.moves), SelectiveScan::integers_of(scan));
}

at::Tensor KernelOps::q_shift(const at::Tensor& x, const at::Tensor& mixes) {
  return QShift::apply(x.contiguous(), mixes.contiguous());
}

at::Tensor KernelOps::bi_wkv(const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                             const at::Tensor& first, const BiWkvOp& op) {
  return BiWkv::apply(k.contiguous(), v.contiguous(), decay.contiguous(), first.contiguous(),
                      op.released);
}

}  // namespace vig::train
