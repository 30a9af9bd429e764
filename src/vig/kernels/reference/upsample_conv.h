// Reference implementation of kernels/upsample_conv.h, in double.
#pragma once

#include "vig/kernels/upsample_conv.h"

namespace vig::reference {

// With weights [in, out, 2, 2] as published; `bias` may be null. All panels are computed.
void upsample_conv(const float* weight, const float* bias, const UpsampleConvArgs& args);

}  // namespace vig::reference
