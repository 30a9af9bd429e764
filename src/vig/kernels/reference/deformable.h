// Reference implementation of kernels/deformable.h and its gradients: the formulas as they are
// written there, in double.
#pragma once

#include "vig/kernels/backward/deformable.h"

namespace vig::reference {

void deformable(const DeformableArgs& args);
void deformable_backward(const DeformableBackwardArgs& args);

}  // namespace vig::reference
