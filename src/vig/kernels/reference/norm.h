// Reference implementations of kernels/norm.h, in double.
#pragma once

#include <cstdint>

#include "vig/kernels/norm.h"

namespace vig::reference {

void layer_norm(const NormArgs& args);
void rms_norm(const NormArgs& args);

// sqrt(mean(x^2) + eps).
double rms_root(const float* x, int64_t width, double eps);

}  // namespace vig::reference
