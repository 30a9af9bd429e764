// RoIAlign (kernels/roi_align.h) over the levels of a pyramid, differentiable with respect to the
// maps.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace vig::train {

struct RoiAlign {
  std::vector<float> scales;  // of each level, 1 / stride
  float finest_scale = 56.0f;
  int side = 7;
  int sampling_ratio = 0;
};

// maps: [batch, height_l, width_l, C] of each level. boxes: [R, 5] on the CPU, the image's number
// and x1, y1, x2, y2. The result is [R, side, side, C]. On the CPU by our kernels, elsewhere or
// where `kernels` is false in LibTorch's own operations.
at::Tensor roi_align(const std::vector<at::Tensor>& maps, const at::Tensor& boxes,
                     const RoiAlign& options, bool kernels = true);

}  // namespace vig::train
