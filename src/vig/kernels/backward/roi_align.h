// Gradient of RoIAlign (kernels/roi_align.h) with respect to the map; boxes get none.
#pragma once

#include "vig/kernels/roi_align.h"

namespace vig {

struct RoiAlignBackwardArgs {
  RoiAlignArgs forward;             // of `map` the sizes and the scale; `out` is not used
  const float* grad_out = nullptr;  // [n * n, C]
  int64_t grad_out_stride = 0;
  float* dmap = nullptr;  // [height * width, C], added to: zero it before the first box
  int64_t dmap_stride = 0;
};

// One box. Boxes of one image write to the same memory and are to be called in order; ranges of
// channels are independent and give the same bits.
void roi_align_backward(const RoiAlignBackwardArgs& args);

}  // namespace vig
