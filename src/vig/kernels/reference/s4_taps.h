// Reference implementation of kernels/s4_taps.h: the state space itself, N x N, token by token.
#pragma once

#include "vig/kernels/s4_taps.h"

namespace vig::reference {

void s4_taps(const S4TapsArgs& args);

}  // namespace vig::reference
