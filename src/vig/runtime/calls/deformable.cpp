// The sampling of multi-scale deformable attention.
#include <algorithm>

#include "vig/kernels/deformable.h"
#include "vig/runtime/calls/calls.h"

namespace vig {
namespace {

std::vector<DeformableGrid> grids_of(const std::vector<GridSize>& sizes) {
  std::vector<DeformableGrid> grids;
  for (const GridSize& size : sizes) grids.push_back({size.height, size.width});
  return grids;
}

class DeformableCall final : public KernelCall {
 public:
  DeformableCall(int values, int offsets, int logits, int out, const DeformableOp& op)
      : KernelCall(out),
        values_(values),
        offsets_(offsets),
        logits_(logits),
        heads_(op.heads),
        points_(op.points),
        levels_(grids_of(op.levels)),
        queries_(grids_of(op.queries)) {}

  std::vector<int> operands() const override { return {values_, offsets_, logits_}; }
  Reach reach() const override { return Reach::kNeighbours; }
  const char* kind() const override { return "deformable"; }

  void run(const Bindings& bindings, const Tile& tile) const override {
    DeformableArgs args;
    args.levels = levels_.data();
    args.level_count = static_cast<int64_t>(levels_.size());
    args.queries = queries_.data();
    args.query_grids = static_cast<int64_t>(queries_.size());
    args.heads = heads_;
    args.points = points_;
    args.head_dim = bindings.channels(values_) / heads_;
    args.values_stride = bindings.stride(values_);
    args.offsets_stride = bindings.stride(offsets_);
    args.logits_stride = bindings.stride(logits_);
    args.out_stride = bindings.stride(result());
    const int64_t positions = bindings.grid(values_).positions();
    // The tile's rows of one image after the other.
    for (int64_t row = tile.first; row < tile.last;) {
      const int64_t image = row / tile.positions;
      args.first_query = row % tile.positions;
      args.last_query = std::min(tile.positions, args.first_query + tile.last - row);
      args.values = bindings.row(values_, image * positions);
      args.offsets = bindings.row(offsets_, row - args.first_query);
      args.logits = bindings.row(logits_, row - args.first_query);
      args.out =
          bindings.tile(result(), tile) + (row - tile.first - args.first_query) * args.out_stride;
      deformable(args);
      row += args.last_query - args.first_query;
    }
  }

 private:
  int values_, offsets_, logits_;
  int heads_, points_;
  std::vector<DeformableGrid> levels_, queries_;
};

}  // namespace

void lower(const DeformableOp& op, Lowering& to) {
  to.add(std::make_unique<DeformableCall>(to.operand(0), to.operand(1), to.operand(2), to.result(),
                                          op),
         to.macs());
}

}  // namespace vig
