// Reference implementations of kernels/long_conv.h and kernels/backward/long_conv.h, in double, on
// taps as they are before packing.
#pragma once

#include "vig/kernels/long_conv.h"

namespace vig::reference {

// `packed` and `scratch` are not used.
void long_conv(const LongConvArgs& args, const LongTaps& taps);

// Added to: dx [T, channels], dtaps in the layout of `taps`. dy [T, channels].
struct LongConvGradients {
  const float* dy = nullptr;
  int64_t dy_stride = 0;
  float* dx = nullptr;
  int64_t dx_stride = 0;
  float* dtaps = nullptr;
};
void long_conv_backward(const LongConvArgs& args, const LongTaps& taps,
                        const LongConvGradients& grads);

}  // namespace vig::reference
