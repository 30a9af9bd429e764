// The long convolution of S4. Its taps follow from the parameters alone and are packed.
#include <algorithm>

#include "vig/kernels/long_conv.h"
#include "vig/kernels/s4_taps.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/channel_blocks.h"

namespace vig {
namespace {

enum Param : size_t { kInvDt, kC, kB, kAReal, kAImag, kP, kLength };

class S4ConvCall final : public ImageCall {
 public:
  S4ConvCall(const Node& node, const Grid& in, int result, Elementwise function)
      : ImageCall(result),
        op_(std::get<S4ConvOp>(node.op)),
        in_(node.inputs[0]),
        d_(node.params.size() > kS4KernelParams ? node.params[0] : -1),
        params_(node.params.end() - kS4KernelParams, node.params.end()),
        grid_(in),
        lines_(s4_lines(op_, in.height, in.width)),
        function_(function) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "long convolution"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>& params) const override {
    const int64_t sets = single() ? params[params_[kC]].shape[1] : op_.copies;
    return Packing{params_[kC], single() ? "taps of copies" : "taps",
                   static_cast<size_t>(sets) * set_floats() * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    const auto data = [&](Param which) {
      return weights.data(static_cast<size_t>(params_[which]));
    };
    const int64_t channels = params[params_[kC]].shape[1], taps = op_.length;
    S4TapsArgs args;
    args.channels = channels;
    args.rows = 2 * op_.copies;
    args.systems = params[params_[kAReal]].shape[0];
    args.pairs = params[params_[kAReal]].shape[1];
    args.inv_dt = data(kInvDt);
    args.a_real = data(kAReal);
    args.a_imag = data(kAImag);
    args.b = data(kB);
    args.p = data(kP);
    args.c = data(kC);
    args.l_kernel = s4_kernel_length(*data(kLength));
    args.length = taps;
    std::vector<float> made(static_cast<size_t>(args.rows * taps * channels));
    args.taps = made.data();
    s4_taps(args);
    // Sets are copies, of all channels; or channels, of all copies.
    const int64_t sets = single() ? channels : op_.copies;
    const int64_t lanes = single() ? op_.copies : channels;
    const auto tap = [&](int64_t set, int64_t lane, int64_t direction, int64_t j) {
      const int64_t copy = single() ? lane : set, channel = single() ? set : lane;
      return made[static_cast<size_t>(((direction * op_.copies + copy) * taps + j) * channels +
                                      channel)];
    };
    // By rising distance: the taps ahead backward, then those of the past, the first of which takes
    // D.
    std::vector<float> rows(static_cast<size_t>(2 * taps * lanes));
    for (int64_t set = 0; set < sets; ++set, to += set_floats()) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        for (int64_t j = 0; j < taps; ++j) {
          rows[static_cast<size_t>((taps - 1 - j) * lanes + lane)] = tap(set, lane, 1, j);
          rows[static_cast<size_t>((taps + j) * lanes + lane)] = tap(set, lane, 0, j);
        }
        if (d_ < 0) continue;
        rows[static_cast<size_t>(taps * lanes + lane)] +=
            weights.data(static_cast<size_t>(d_))[set * lanes + lane];
      }
      long_conv_pack({rows.data(), lanes, taps, taps}, lanes, to);
    }
  }

  void share_out(const Workload& load) override {
    blocks_ = {lanes(), load};
    // Lines never meet either.
    parts_ = std::min<int64_t>(lines_.count, 8);
  }
  int64_t task_bytes() const override {
    const int64_t copied = spreads() ? lines_.tokens * blocks_.width() : 0;
    return (scratch_floats() + copied) * kFloatBytes;
  }
  int64_t tasks(const Bindings&, int images) const override {
    return images * blocks_.count() * parts_;
  }

  // Some channels of some lines of an image, all copies.
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t part = task % parts_, block = task / parts_ % blocks_.count();
    const int64_t image = task / parts_ / blocks_.count(), first = blocks_.first(block);
    const int64_t apart = op_.axis == S4Axis::kDown ? grid_.width : 1;  // rows between tokens
    LongConvArgs args;
    args.tokens = lines_.tokens;
    args.channels = blocks_.channels(block);
    args.past = args.future = op_.length;
    args.function = function_;
    args.out_stride = apart * bindings.stride(result());
    args.scratch = scratch;
    const int64_t packed_first =
        first / kLongConvBlock * long_conv_block_floats(op_.length, op_.length);
    const int64_t last = lines_.count * (part + 1) / parts_;
    for (int64_t line = lines_.count * part / parts_; line < last; ++line) {
      const int64_t row =
          image * grid_.positions() + line * (op_.axis == S4Axis::kAcross ? grid_.width : 1);
      args.in = bindings.row(in_, row) + (spreads() ? 0 : first);
      args.in_stride = apart * bindings.stride(in_);
      if (spreads()) spread(args, scratch + scratch_floats());
      for (int64_t set = 0; set < (single() ? 1 : op_.copies); ++set) {
        const int64_t packed = single() ? op_.channel : set;
        args.packed = bindings.packed(params_[kC]) + packed * static_cast<int64_t>(set_floats()) +
                      packed_first;
        args.out = bindings.row(result(), row) + set * lanes() + first;
        long_conv(args);
      }
    }
  }

 private:
  // Whether one channel of the parameters counts, whose copies are then the lanes of the kernel.
  bool single() const { return op_.channel >= 0; }
  bool spreads() const { return single() && grid_.channels < op_.copies; }
  int64_t lanes() const { return single() ? op_.copies : grid_.channels; }
  size_t set_floats() const { return long_conv_packed_floats(op_.length, op_.length, lanes()); }
  int64_t scratch_floats() const {
    return (static_cast<int64_t>(long_conv_floats(lines_.tokens)) + 15) / 16 * 16;
  }
  // The only channel of x once for each lane.
  static void spread(LongConvArgs& args, float* to) {
    for (int64_t t = 0; t < args.tokens; ++t) {
      std::fill_n(to + t * args.channels, args.channels, args.in[t * args.in_stride]);
    }
    args.in = to;
    args.in_stride = args.channels;
  }

  S4ConvOp op_;
  int in_;
  int d_;  // parameter, or -1
  std::vector<int> params_;
  Grid grid_;  // of the operand
  S4Lines lines_;
  Elementwise function_;
  ChannelBlocks blocks_{1, {}};
  int64_t parts_ = 1;  // of the lines
};

}  // namespace

void lower(const S4ConvOp&, Lowering& to) {
  to.add(std::make_unique<S4ConvCall>(to.node(to.unit().node), to.grid(to.operand(0)), to.result(),
                                      to.unit().function),
         to.macs());
}

}  // namespace vig
