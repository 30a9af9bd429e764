// Reference implementations of kernels/backward/conv_dense.h: each output hands its gradient to
// every pixel and weight it saw, in double.
#pragma once

#include "vig/kernels/backward/conv_dense.h"

namespace vig::reference {

// `weight` as published in place of args.panels; no scratch.
void conv_input_backward(const float* weight, const ConvInputBackwardArgs& args);
void conv_weight_backward(const ConvWeightBackwardArgs& args);

}  // namespace vig::reference
