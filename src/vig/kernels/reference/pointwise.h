// Reference implementations of kernels/pointwise.h, in double.
#pragma once

#include "vig/kernels/pointwise.h"

namespace vig::reference {

void pointwise(const PointwiseArgs& args);
void gated_mix(const GatedMixArgs& args);

}  // namespace vig::reference
