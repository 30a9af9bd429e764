// Reference implementation of kernels/conv_dense.h: each output asks every tap whether it exists,
// in double.
#pragma once

#include "vig/kernels/conv_dense.h"

namespace vig::reference {

// `weight` as published, [out, in / groups, kernel, kernel], and `bias` (or null) in place of
// args.panels; all output channels.
void dense_conv(const float* weight, const float* bias, const DenseConvArgs& args);

}  // namespace vig::reference
