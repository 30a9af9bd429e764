// The gradient of map_resize.h: every position of the map gathers what the results that read it
// have given back, so the sums have one order.
#pragma once

#include <cstdint>

#include "vig/kernels/map_resize.h"

namespace vig {

//   dx[y, x] = sum over lines i, columns j of line(i, y) column(j, x) dy[i, j]
// with the shares that line i and column j of the result have of line y and column x.
struct MapResizeBackwardArgs {
  const MapGrids* grids = nullptr;
  const float* dy = nullptr;  // [batch, out_height, out_width, channels]
  int64_t batch = 0;
  int64_t channels = 0;
  float* dx = nullptr;  // [batch, height, width, channels], overwritten
};

void map_resize_backward(const MapResizeBackwardArgs& args);

}  // namespace vig
