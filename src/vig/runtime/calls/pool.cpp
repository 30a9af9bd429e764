// The mean over all positions, or over each of some parts of the map.
#include <algorithm>

#include "vig/kernels/pool.h"

#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

constexpr int64_t kColumns = 64;  // channels that one task averages

// Some channels of one image at a time.
class ChannelsPoolCall : public ImageCall {
 public:
  ChannelsPoolCall(int in, int out) : ImageCall(out), in_(in) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "pool"; }

  int64_t tasks(const Bindings& bindings, int images) const override {
    return images * ((bindings.channels(result()) + kColumns - 1) / kColumns);
  }

 protected:
  int in_;
};

class PoolCall final : public ChannelsPoolCall {
 public:
  PoolCall(int in, int out, int64_t channels) : ChannelsPoolCall(in, out), channels_(channels) {}

  void run_task(const Bindings& bindings, int images, int64_t task, int,
                std::byte*) const override {
    const Grid& grid = bindings.grid(in_);
    const int64_t image = task % images;
    const int64_t column = task / images * kColumns;
    mean_rows(bindings.row(in_, image * grid.positions()) + column, bindings.stride(in_),
              grid.positions(), std::min(kColumns, static_cast<int64_t>(grid.channels) - column),
              bindings.row(result(), image) + column);
  }

  // By segments, the sums are kept from one to the next.
  bool has_segments() const override { return true; }
  void share_out(const Workload& load) override { segments_ = load.segments; }
  int64_t state_bytes(int) const override { return segments_ ? 2 * channels_ * kFloatBytes : 0; }
  int64_t segment_tasks(const Operands&) const override {
    return (channels_ + kColumns - 1) / kColumns;
  }
  void run_segment(const Bindings& bindings, const SegmentPart& part, int64_t task) const override {
    const int64_t column = task * kColumns;
    MeanPartArgs args;
    args.rows = bindings.row(in_, part.rows.first) + column;
    args.stride = bindings.stride(in_);
    args.first = part.rows.first;
    args.last = part.rows.last;
    args.count = bindings.grid(in_).positions();
    args.channels = std::min(kColumns, channels_ - column);
    args.sums = reinterpret_cast<float*>(bindings.arena() + state_offset()) + 2 * column;
    args.mean = bindings.row(result(), 0) + column;
    mean_rows_part(args);
  }

 private:
  int64_t channels_;
  bool segments_ = false;
};

class CellPoolCall final : public ChannelsPoolCall {
 public:
  CellPoolCall(int in, int out, int cells) : ChannelsPoolCall(in, out), cells_(cells) {}

  void run_task(const Bindings& bindings, int images, int64_t task, int,
                std::byte*) const override {
    const Grid& grid = bindings.grid(in_);
    const int64_t image = task % images, column = task / images * kColumns;
    CellPoolArgs args;
    args.in = bindings.row(in_, image * grid.positions()) + column;
    args.in_stride = bindings.stride(in_);
    args.grid = {grid.height, grid.width, std::min<int64_t>(kColumns, grid.channels - column)};
    args.cells = cells_;
    args.out = bindings.row(result(), image * cells_ * cells_) + column;
    args.out_stride = bindings.stride(result());
    pool_cells(args);
  }

 private:
  int64_t cells_;
};

}  // namespace

void lower(const AdaptivePoolOp& op, Lowering& to) {
  to.add(std::make_unique<CellPoolCall>(to.operand(0), to.result(), op.cells));
}

void lower(const MeanPoolOp&, Lowering& to) {
  to.add(std::make_unique<PoolCall>(to.operand(0), to.result(), to.grid(to.result()).channels));
}

}  // namespace vig
