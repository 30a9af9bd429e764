// The long convolution of S4. Its taps follow from the parameters alone and are packed.
#include <algorithm>

#include "vig/kernels/long_conv.h"
#include "vig/kernels/s4_taps.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/channel_blocks.h"

namespace vig {
namespace {

enum Param : size_t { kD, kInvDt, kC, kB, kAReal, kAImag, kP, kLength };

class S4ConvCall final : public ImageCall {
 public:
  S4ConvCall(const Node& node, const Grid& in, int result, Elementwise function)
      : ImageCall(result),
        op_(std::get<S4ConvOp>(node.op)),
        in_(node.inputs[0]),
        params_(node.params),
        grid_(in),
        function_(function) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "long convolution"; }

  std::optional<Packing> packing(const std::vector<ParamSpec>&) const override {
    return Packing{params_[kC], "taps",
                   static_cast<size_t>(op_.copies) * copy_floats() * sizeof(float)};
  }
  void pack(const std::vector<ParamSpec>& params, const Weights& weights,
            void* room) const override {
    auto* to = static_cast<float*>(room);
    const auto data = [&](Param which) {
      return weights.data(static_cast<size_t>(params_[which]));
    };
    const int64_t channels = grid_.channels, taps = op_.length;
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
    // By rising distance: the taps ahead backward, then those of the past, the first of which takes
    // D.
    std::vector<float> rows(static_cast<size_t>(2 * taps * channels));
    for (int64_t m = 0; m < op_.copies; ++m, to += copy_floats()) {
      const float* past = made.data() + m * taps * channels;
      const float* future = made.data() + (op_.copies + m) * taps * channels;
      float* next = rows.data();
      for (int64_t j = taps - 1; j >= 0; --j) {
        next = std::copy_n(future + j * channels, channels, next);
      }
      std::copy_n(past, taps * channels, next);
      for (int64_t h = 0; h < channels; ++h) next[h] += data(kD)[m * channels + h];
      long_conv_pack({rows.data(), channels, taps, taps}, channels, to);
    }
  }

  void share_out(const Workload& load) override { blocks_ = {grid_.channels, load}; }
  int64_t task_bytes() const override {
    return static_cast<int64_t>(long_conv_floats(grid_.positions())) * kFloatBytes;
  }
  int64_t tasks(const Bindings&, int images) const override { return images * blocks_.count(); }

  // Some channels of an image, all copies.
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t block = task % blocks_.count(), first = blocks_.first(block);
    const int64_t row = task / blocks_.count() * grid_.positions();
    LongConvArgs args;
    args.tokens = grid_.positions();
    args.channels = blocks_.channels(block);
    args.in = bindings.row(in_, row) + first;
    args.in_stride = bindings.stride(in_);
    args.past = args.future = op_.length;
    args.function = function_;
    args.out_stride = bindings.stride(result());
    args.scratch = scratch;
    const int64_t packed_first =
        first / kLongConvBlock * long_conv_block_floats(op_.length, op_.length);
    for (int64_t m = 0; m < op_.copies; ++m) {
      args.packed =
          bindings.packed(params_[kC]) + m * static_cast<int64_t>(copy_floats()) + packed_first;
      args.out = bindings.row(result(), row) + m * grid_.channels + first;
      long_conv(args);
    }
  }

 private:
  size_t copy_floats() const {
    return long_conv_packed_floats(op_.length, op_.length, grid_.channels);
  }

  S4ConvOp op_;
  int in_;
  std::vector<int> params_;
  Grid grid_;  // of the operand
  Elementwise function_;
  ChannelBlocks blocks_{1, {}};
};

}  // namespace

void lower(const S4ConvOp&, Lowering& to) {
  to.add(std::make_unique<S4ConvCall>(to.node(to.unit().node), to.grid(to.operand(0)), to.result(),
                                      to.unit().function),
         to.macs());
}

}  // namespace vig
