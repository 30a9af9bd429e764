// Token shift and bidirectional WKV.
#include <algorithm>

#include "vig/kernels/q_shift.h"
#include "vig/kernels/wkv.h"
#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/channel_blocks.h"

namespace vig {
namespace {

class QShiftCall final : public KernelCall {
 public:
  QShiftCall(int in, int out, std::vector<int> mixes)
      : KernelCall(out), in_(in), mixes_(std::move(mixes)) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "token shift"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    const Grid& grid = bindings.grid(in_);
    QShiftArgs args;
    args.in_stride = bindings.stride(in_);
    args.height = grid.height;
    args.width = grid.width;
    args.channels = grid.channels;
    args.mixes = static_cast<int>(mixes_.size());
    args.out_stride = bindings.stride(result());
    // The tile's rows of one image after the other.
    for (int64_t row = tile.first; row < tile.last;) {
      args.first_row = row % tile.positions;
      args.last_row = std::min(tile.positions, args.first_row + tile.last - row);
      args.in = bindings.row(in_, row - args.first_row);
      float* const out = bindings.tile(result(), tile) + (row - tile.first) * args.out_stride;
      for (size_t n = 0; n < mixes_.size(); ++n) {
        args.mix[n] = bindings.weight(mixes_[n]);
        args.out[n] = out + static_cast<int64_t>(n) * args.channels;
      }
      q_shift_mix(args);
      row += args.last_row - args.first_row;
    }
  }

 private:
  int in_;
  std::vector<int> mixes_;  // parameters
};

class WkvCall final : public ImageCall {
 public:
  struct Spec {
    int k = -1, v = -1, out = -1;
    int decay = -1, first = -1;  // parameters
    bool released = false;
    int64_t positions = 0;
    int64_t channels = 0;
  };
  explicit WkvCall(const Spec& spec) : ImageCall(spec.out), spec_(spec) {}

  std::vector<int> operands() const override { return {spec_.k, spec_.v}; }
  const char* kind() const override { return "wkv"; }

  void share_out(const Workload& load) override { blocks_ = {spec_.channels, load}; }
  int64_t task_bytes() const override {
    return static_cast<int64_t>(wkv_scratch_floats(spec_.positions)) * kFloatBytes;
  }
  int64_t tasks(const Bindings&, int images) const override { return images * blocks_.count(); }
  void run_task(const Bindings& bindings, int, int64_t task, int, std::byte* room) const override {
    auto* const scratch = reinterpret_cast<float*>(room);
    const int64_t block = task % blocks_.count(), first = blocks_.first(block);
    const int64_t row = task / blocks_.count() * spec_.positions;
    WkvArgs args;
    args.tokens = spec_.positions;
    args.channels = blocks_.channels(block);
    args.k = bindings.row(spec_.k, row) + first;
    args.k_stride = bindings.stride(spec_.k);
    args.v = bindings.row(spec_.v, row) + first;
    args.v_stride = bindings.stride(spec_.v);
    args.decay = bindings.weight(spec_.decay) + first;
    args.first = bindings.weight(spec_.first) + first;
    args.released = spec_.released;
    args.y = bindings.row(result(), row) + first;
    args.y_stride = bindings.stride(result());
    args.scratch = scratch;
    wkv(args);
  }

 private:
  Spec spec_;
  ChannelBlocks blocks_{1, {}};
};

}  // namespace

void lower(const QShiftOp&, Lowering& to) {
  to.add(std::make_unique<QShiftCall>(to.operand(0), to.result(), to.node(to.unit().node).params));
}

void lower(const BiWkvOp& op, Lowering& to) {
  const Grid& grid = to.grid(to.result());
  WkvCall::Spec spec;
  spec.k = to.operand(0);
  spec.v = to.operand(1);
  spec.out = to.result();
  spec.decay = to.param(0);
  spec.first = to.param(1);
  spec.released = op.released;
  spec.positions = grid.positions();
  spec.channels = grid.channels;
  to.add(std::make_unique<WkvCall>(spec), to.macs());
}

}  // namespace vig
