#include "vig/kernels/backward/pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/pool.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

// The cells [first, last] of an axis that a position lies in.
struct CellRange {
  int64_t first, last;
};

CellRange cells_of(int64_t at, int64_t size, int64_t cells) {
  return {at * cells / size, ((at + 1) * cells - 1) / size};
}

int64_t cell_length(int64_t i, int64_t size, int64_t cells) {
  return cell_end(i, size, cells) - cell_begin(i, size, cells);
}

void gather_cells(const CellPoolBackwardArgs& args) {
  const RowTag d;
  const ConvGrid& g = args.grid;
  const int64_t cells = args.cells;
  float* dx = args.dx;
  for (int64_t image = 0; image < args.batch; ++image) {
    const float* dy = args.dy + image * cells * cells * g.channels;
    for (int64_t y = 0; y < g.height; ++y) {
      const CellRange lines = cells_of(y, g.height, cells);
      for (int64_t x = 0; x < g.width; ++x, dx += g.channels) {
        const CellRange columns = cells_of(x, g.width, cells);
        for_each_vector(static_cast<size_t>(g.channels), [&](size_t c, const auto& load,
                                                             const auto& store) HWY_ATTR {
          RowVec sum = hn::Zero(d);
          for (int64_t i = lines.first; i <= lines.last; ++i) {
            for (int64_t j = columns.first; j <= columns.last; ++j) {
              const int64_t area = cell_length(i, g.height, cells) * cell_length(j, g.width, cells);
              const RowVec share = hn::Set(d, 1.0f / static_cast<float>(area));
              sum = hn::MulAdd(share, load(dy + (i * cells + j) * g.channels + c), sum);
            }
          }
          store(sum, dx + c);
        });
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vig {

HWY_EXPORT(gather_cells);

void pool_cells_backward(const CellPoolBackwardArgs& args) {
  HWY_DYNAMIC_DISPATCH(gather_cells)(args);
}

}  // namespace vig
#endif  // HWY_ONCE
