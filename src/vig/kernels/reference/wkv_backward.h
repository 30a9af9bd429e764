// Reference implementation of kernels/backward/wkv.h, in double, in time that grows with the square
// of the tokens. args.scratch is not used.
#pragma once

#include "vig/kernels/backward/wkv.h"

namespace vig::reference {

void wkv_backward(const WkvBackwardArgs& args);

}  // namespace vig::reference
