// Reference implementations of kernels/conv.h: each output checks whether each neighbour exists.
#pragma once

#include "vig/kernels/conv.h"

namespace vig::reference {

// `weight` as published, [channels, 1, kernel, kernel], in place of args.taps.
void depthwise_conv(const float* weight, const DepthwiseConvArgs& args);
void gather_patches(const PatchArgs& args);

}  // namespace vig::reference
