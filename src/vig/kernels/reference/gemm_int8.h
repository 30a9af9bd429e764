// Reference implementations of kernels/quantize.h and kernels/gemm_int8.h in plain loops.
#pragma once

#include "vig/kernels/gemm_int8.h"

namespace vig::reference {

// Numbers with one scale: x ~ scale * code, |code| <= most_code.
float quantize(const float* x, int64_t count, int most_code, int* codes);

// On weights as published: weight [n, k], bias [n] or null, and rows a [rows, k] before they are
// quantised, lda floats apart. Of args it reads all but a, lda, panels, and computes every column.
void gemm_int8(const float* a, int64_t lda, const float* weight, const float* bias,
               const Int8GemmArgs& args);

}  // namespace vig::reference
