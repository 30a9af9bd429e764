// Reference implementations of kernels/backward/conv.h: each output adds its gradient to every
// neighbour it read, in double.
#pragma once

#include "vig/kernels/backward/conv.h"

namespace vig::reference {

// `weight` as published, [channels, 1, kernel, kernel], in place of args.taps. Of the rows args
// names, though it goes through the windows of all `batch` images.
void depthwise_input_backward(const float* weight, int64_t batch, const DepthwiseInputArgs& args);
void depthwise_weight_backward(const DepthwiseWeightArgs& args);
// Of the rows args names, though it goes through the patches of all `batch` images.
void scatter_patches(int64_t batch, const ScatterArgs& args);

}  // namespace vig::reference
