// Reference implementation of kernels/roi_align.h and its gradient: one bilinear sample after the
// other, in double.
#pragma once

#include "vig/kernels/backward/roi_align.h"

namespace vig::reference {

void roi_align(const RoiAlignArgs& args);
void roi_align_backward(const RoiAlignBackwardArgs& args);

}  // namespace vig::reference
