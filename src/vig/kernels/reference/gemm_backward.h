// Reference implementation of kernels/backward/gemm.h.
#pragma once

#include "vig/kernels/backward/gemm.h"

namespace vig::reference {

void gemm_backward(const GemmBackwardArgs& args);

}  // namespace vig::reference
