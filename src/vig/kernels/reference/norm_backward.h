// Reference implementations of kernels/backward/norm.h, in double: every output's derivative by
// every input of its row, written out.
#pragma once

#include <vector>

#include "vig/kernels/backward/norm.h"

namespace vig::reference {

void layer_norm_backward(const NormBackwardArgs& args);
void rms_norm_backward(const NormBackwardArgs& args);

// The gradient of x from the gradient g of xh = x / sqrt(mean(x^2) + eps).
std::vector<double> rms_gradient(const float* x, const std::vector<double>& g, double eps);

}  // namespace vig::reference
