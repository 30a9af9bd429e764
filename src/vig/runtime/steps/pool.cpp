// The mean over all positions.
#include <algorithm>

#include "vig/kernels/pool.h"

#include "vig/runtime/steps/steps.h"

namespace vig {
namespace {

constexpr int64_t kColumns = 64;  // channels that one task averages

class PoolStep final : public PictureStep {
 public:
  PoolStep(int in, int out) : PictureStep(out), in_(in) {}

  std::vector<int> operands() const override { return {in_}; }
  const char* kind() const override { return "pool"; }

  int64_t tasks(const Bindings& bindings, int images) const override {
    return images * ((bindings.channels(result()) + kColumns - 1) / kColumns);
  }
  void run_task(const Bindings& bindings, int images, int64_t task, int, float*) const override {
    const Grid& grid = bindings.grid(in_);
    const int64_t image = task % images;
    const int64_t column = task / images * kColumns;
    mean_rows(bindings.row(in_, image * grid.positions()) + column, bindings.stride(in_),
              grid.positions(), std::min(kColumns, static_cast<int64_t>(grid.channels) - column),
              bindings.row(result(), image) + column);
  }

 private:
  int in_;
};

}  // namespace

void lower(const MeanPoolOp&, Lowering& to) {
  to.add(std::make_unique<PoolStep>(to.operand(0), to.result()));
}

}  // namespace vig
