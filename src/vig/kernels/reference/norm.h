// Slow twins of kernels/norm.h, in double.
#pragma once

#include "vig/kernels/norm.h"

namespace vig::reference {

void layer_norm(const NormArgs& args);
void rms_norm(const NormArgs& args);

}  // namespace vig::reference
