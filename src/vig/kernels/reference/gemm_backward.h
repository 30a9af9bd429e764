// Reference implementation of kernels/gemm_backward.h.
#pragma once

#include "vig/kernels/gemm_backward.h"

namespace vig::reference {

void gemm_backward(const GemmBackwardArgs& args);

}  // namespace vig::reference
