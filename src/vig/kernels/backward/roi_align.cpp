#include "vig/kernels/backward/roi_align.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vig/kernels/backward/roi_align.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/roi_axis.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void run_roi_back(const RoiAlignBackwardArgs& args, const RoiAxis& rows, const RoiAxis& columns) {
  const RowTag d;
  const int side = args.forward.side;
  for (int p = 0; p < side * side; ++p) {
    const RoiAxis::Cell y = rows.cell(p / side), x = columns.cell(p % side);
    const float* const grad = args.grad_out + p * args.grad_out_stride;
    for (int64_t j = 0; j < y.count; ++j) {
      for (int64_t i = 0; i < x.count; ++i) {
        const int64_t position = (y.first + j) * args.forward.map.width + x.first + i;
        float* const to = args.dmap + position * args.dmap_stride;
        const RowVec weight = hn::Set(d, y.weights[j] * x.weights[i]);
        for_each_vector(static_cast<size_t>(args.forward.channels),
                        [&](size_t c, const auto& load, const auto& store) HWY_ATTR {
                          store(hn::MulAdd(weight, load(grad + c), load(to + c)), to + c);
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

HWY_EXPORT(run_roi_back);

void roi_align_backward(const RoiAlignBackwardArgs& args) {
  const RoiAlignArgs& forward = args.forward;
  const float* box = forward.box;
  const RoiMap& map = forward.map;
  const RoiAxis rows(box[1], box[3], map.scale, forward.side, forward.sampling_ratio, map.height);
  const RoiAxis columns(box[0], box[2], map.scale, forward.side, forward.sampling_ratio, map.width);
  HWY_DYNAMIC_DISPATCH(run_roi_back)(args, rows, columns);
}

}  // namespace vig
#endif  // HWY_ONCE
