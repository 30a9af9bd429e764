// Reference implementation of kernels/gemm.h on weights as published: weight [n, k], bias [n] or
// null.
#pragma once

#include "vig/kernels/gemm.h"

namespace vig::reference {

// Of args.weight it reads n, k and paired; it computes every column, not only the requested panels.
void gemm(const float* weight, const float* bias, const GemmArgs& args);

}  // namespace vig::reference
