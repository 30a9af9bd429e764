// Slow twins of kernels/conv_backward.h: each output hands its gradient to every neighbour it saw,
// in double.
#pragma once

#include "vig/kernels/conv_backward.h"

namespace vig::reference {

// dx, [batch, height, width, channels], of a depthwise convolution without SiLU; `weight` as
// published, [channels, 1, kernel, kernel]; padding -1 is kernel / 2.
void depthwise_input_backward(const float* weight, const ConvGrid& grid, int64_t kernel,
                              int64_t batch, const float* dy, int64_t dy_stride, float* dx,
                              int64_t stride = 1, int64_t padding = -1);
void depthwise_weight_backward(const DepthwiseWeightArgs& args);
// Of the rows args names, though it goes through the patches of all `batch` pictures.
void scatter_patches(int64_t batch, const ScatterArgs& args);

}  // namespace vig::reference
