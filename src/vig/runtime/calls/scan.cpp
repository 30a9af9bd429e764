// The scan of gated linear attention, in one direction or both.
//
// In both directions it sweeps (see ImageCall::sweeps). Where there are more workers than halves
// of images, the passes share out the heads, and if that is not enough, blocks of their value
// columns. A pass goes tile by tile in either case, so bits are the same.
#include <algorithm>
#include <cmath>

#include "vig/kernels/gla.h"

#include "vig/runtime/calls/calls.h"
#include "vig/runtime/calls/int8_product.h"
#include "vig/runtime/calls/pointwise.h"
#include "vig/runtime/calls/product.h"

namespace vig {
namespace {

class ScanCall final : public ImageCall {
 public:
  // One direction alone may be scaled by a factor.
  ScanCall(int qkv, int alpha, int out, const GlaOp& op, float factor = 1.0f)
      : ImageCall(out), qkv_(qkv), alpha_(alpha), op_(op), factor_(factor) {}

  std::vector<int> operands() const override { return {qkv_, alpha_}; }
  const char* kind() const override { return "scan"; }

  int passes() const override { return gla_directions(op_); }
  bool sweeps() const override { return passes() == 2; }

  void share_out(const Workload& load) override {
    constexpr int64_t kNarrowest = 16;  // columns of a block
    positions_ = load.positions;
    blocks_ = 1;
    if (load.rides) return;
    // By segments, a task has both directions.
    const int64_t heads =
        static_cast<int64_t>(load.batch) * op_.heads * (load.segments ? 1 : passes());
    while (heads * blocks_ % load.threads != 0 && heads * blocks_ < 8 * load.threads &&
           op_.value_dim % (2 * blocks_) == 0 && op_.value_dim / (2 * blocks_) >= kNarrowest) {
      blocks_ *= 2;
    }
  }
  // One state for each image, head, block and direction.
  int64_t state_bytes(int batch) const override {
    return batch * op_.heads * blocks_ * passes() * block_bytes();
  }

  // Counted by image, half, head and block, so that a worker's share is a run of rows.
  int64_t tasks(const Bindings&, int images) const override {
    return images * passes() * op_.heads * blocks_;
  }
  void run_task(const Bindings& bindings, int, int64_t task, int pass, std::byte*) const override {
    const Columns columns{task / blocks_ % op_.heads, task % blocks_};
    const int64_t half = task / blocks_ / op_.heads;
    SweepPart part;
    part.image = half / passes();
    part.pass = pass;
    if (passes() == 1) {
      part.last = positions_;
      part.backward = op_.direction == GlaDirection::kBackward;
      return scan(bindings, part, columns);
    }
    const bool back = half % 2 == 1;
    const SweepTiles tiles = SweepTiles::of_half(positions_, back);
    const int64_t count = tiles.count();
    part.backward = back != (pass == 1);
    part.resume = pass == 1;
    if (count == 0) return scan(bindings, part, columns);  // leaves a state for the other half
    for (int64_t n = 0; n < count; ++n) {
      const int64_t t = part.backward ? count - 1 - n : n;
      part.first = tiles.start(t);
      part.last = tiles.start(t + 1);
      part.resume = pass == 1 || n > 0;
      scan(bindings, part, columns);
    }
  }
  void run_part(const Bindings& bindings, const SweepPart& part) const override {
    for (int64_t head = 0; head < op_.heads; ++head) scan(bindings, part, {head, 0});
  }

  // From the first row on, a direction continues from segment to segment; its chunks are those of
  // the whole image if segments are whole tiles of the two passes, or whole chunks in one
  // direction.
  bool has_segments() const override { return op_.direction != GlaDirection::kBackward; }
  bool keeps_states() const override { return sweeps(); }
  int64_t kept_bytes() const override { return op_.heads * blocks_ * block_bytes(); }
  int64_t segment_end(int64_t positions, int64_t row) const override {
    if (!sweeps()) {
      const int64_t chunk = gla_chunk_tokens();
      return std::min(positions, (row + chunk - 1) / chunk * chunk);
    }
    const SweepTiles front = SweepTiles::of_half(positions, false);
    const SweepTiles half = row <= front.last ? front : SweepTiles::of_half(positions, true);
    return half.start(half.tile_from(row));
  }
  int64_t segment_tasks(const Operands&) const override { return op_.heads * blocks_; }
  void run_segment(const Bindings& bindings, const SegmentPart& part, int64_t task) const override {
    const Columns columns{task / blocks_, task % blocks_};
    if (!sweeps()) {
      SweepPart rows;
      rows.first = part.rows.first;
      rows.last = part.rows.last;
      rows.resume = rows.first > 0;
      return scan(bindings, rows, columns);
    }
    if (!part.states) sweep_segment(bindings, part, columns, false);
    std::byte* const kept = part.kept == nullptr ? nullptr : part.kept + task * block_bytes();
    std::byte* const state = state_of(bindings, 0, columns, true);
    if (!part.states && kept != nullptr) std::copy_n(kept, block_bytes(), state);
    sweep_segment(bindings, part, columns, true);
    if (part.states && kept != nullptr) std::copy_n(state, block_bytes(), kept);
  }

 private:
  // The columns of one task.
  struct Columns {
    int64_t head = 0, block = 0;
  };

  int64_t block_bytes() const {
    const auto floats =
        static_cast<int64_t>(gla_state_floats(op_.key_dim, op_.value_dim / blocks_));
    return (floats * kFloatBytes + 63) / 64 * 64;  // whole cache lines
  }

  std::byte* state_of(const Bindings& bindings, int64_t image, const Columns& columns,
                      bool backward) const {
    const int64_t unit = (image * op_.heads + columns.head) * blocks_ + columns.block;
    const int64_t state = unit * passes() + (passes() == 2 && backward ? 1 : 0);
    return bindings.arena() + state_offset() + state * block_bytes();
  }

  // The tiles of a segment in one direction; the forward one comes first, unless it has been.
  void sweep_segment(const Bindings& bindings, const SegmentPart& segment, const Columns& columns,
                     bool backward) const {
    SweepPart part;
    part.backward = backward;
    part.pass = backward && !segment.states ? 1 : 0;
    for (int i = 0; i < 2; ++i) {
      const SweepTiles tiles = SweepTiles::of_half(positions_, (i == 1) != backward);
      const int64_t first = tiles.tile_from(segment.rows.first);
      const int64_t last = std::min(tiles.tile_from(segment.rows.last), tiles.count());
      for (int64_t n = first; n < last; ++n) {
        const int64_t t = backward ? first + last - 1 - n : n;
        part.first = tiles.start(t);
        part.last = tiles.start(t + 1);
        part.resume = backward ? part.last < positions_ : part.first > 0;
        scan(bindings, part, columns);
      }
    }
  }

  void scan(const Bindings& bindings, const SweepPart& part, const Columns& columns) const {
    const int64_t directions = passes();
    const int64_t width = op_.value_dim / blocks_;
    const int64_t keys = static_cast<int64_t>(op_.heads) * op_.key_dim;
    const int64_t row = part.image * positions_ + part.first;
    const int64_t column = columns.head * op_.value_dim + columns.block * width;
    const bool last_pass = part.pass == 1;
    GlaArgs args;
    args.tokens = part.last - part.first;
    args.key_dim = op_.key_dim;
    args.value_dim = width;
    args.q = bindings.row(qkv_, row) + columns.head * op_.key_dim;
    args.k = args.q + keys;
    args.v = bindings.row(qkv_, row) + 2 * keys + column;
    args.qkv_stride = bindings.stride(qkv_);
    const float* gates = bindings.row(alpha_, row) + columns.head * op_.key_dim;
    if (part.backward) {
      args.alpha_backward = gates + (op_.direction == GlaDirection::kBoth ? keys : 0);
    } else {
      args.alpha_forward = gates;
    }
    args.alpha_stride = bindings.stride(alpha_);
    args.resume = part.resume;
    args.add = last_pass;
    if (directions == 1 || last_pass) {
      args.scale =
          factor_ / std::sqrt(static_cast<float>(op_.key_dim)) / static_cast<float>(directions);
    }
    args.o = bindings.row(result(), row) + column;
    args.o_stride = bindings.stride(result());
    args.state = reinterpret_cast<float*>(state_of(bindings, part.image, columns, part.backward));
    gla(args);
  }

  int qkv_, alpha_;
  GlaOp op_;
  float factor_;
  int64_t positions_ = 0;
  int64_t blocks_ = 1;  // of a head's value columns
};

// The rows of each image from the last to the first; of the channels those from `first` on.
class ReversedCall final : public KernelCall {
 public:
  ReversedCall(int in, int out, int64_t first = 0) : KernelCall(out), in_(in), first_(first) {}

  std::vector<int> operands() const override { return {in_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "copy"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    float* out = bindings.tile(result(), tile);
    for (int64_t row = tile.first; row < tile.last; ++row, out += bindings.stride(result())) {
      const int64_t image = row / tile.positions, at = row % tile.positions;
      const int64_t from = image * tile.positions + tile.positions - 1 - at;
      std::copy_n(bindings.row(in_, from) + first_, bindings.channels(result()), out);
    }
  }

 private:
  int in_;
  int64_t first_;
};

// Two scans in one direction, the second over reversed copies, and their sum.
void add_two_passes(const GlaOp& op, int alpha, Lowering& to) {
  const int64_t keys = static_cast<int64_t>(op.heads) * op.key_dim;
  const Grid grid = to.grid(to.result());
  const int qkv = to.operand(0);
  const int qkv_back = to.fresh(to.grid(qkv));
  const int alpha_back = to.fresh({grid.height, grid.width, static_cast<int>(keys)});
  const int ahead = to.fresh(grid), reversed = to.fresh(grid), back = to.fresh(grid);
  const GlaOp causal{op.heads, op.key_dim, op.value_dim, GlaDirection::kForward};
  MacCount half = to.macs();
  half.scan /= 2;
  to.add(std::make_unique<ScanCall>(qkv, alpha, ahead, causal, 0.5f), half);
  to.add(std::make_unique<ReversedCall>(qkv, qkv_back));
  const int64_t second = op.direction == GlaDirection::kBoth ? keys : 0;
  to.add(std::make_unique<ReversedCall>(alpha, alpha_back, second));
  to.add(std::make_unique<ScanCall>(qkv_back, alpha_back, reversed, causal, 0.5f), half);
  to.add(std::make_unique<ReversedCall>(reversed, back));
  to.add(make_sum(ahead, back, to.result()));
}

}  // namespace

void lower(const GlaOp& op, Lowering& to) {
  // The gates are decays, made from their logits by the product that makes those where it can.
  const Node* product = to.producer(1);
  const int alpha = to.fresh(to.grid(to.operand(1)));
  if (product != nullptr) {
    ProductCall::Spec spec = ProductCall::of_linear(*product);
    spec.out = alpha;
    spec.function = Elementwise::kDecay;
    if (to.int8(*product)) {
      add_int8_product(to, spec, to.macs(*product));
    } else {
      to.add(std::make_unique<ProductCall>(spec), to.macs(*product));
    }
  } else {
    to.add(make_pointwise(Elementwise::kDecay, to.operand(1), alpha));
  }
  if (op.two_pass && gla_directions(op) == 2) return add_two_passes(op, alpha, to);
  to.add(std::make_unique<ScanCall>(to.operand(0), alpha, to.result(), op), to.macs());
}

}  // namespace vig
