// Reference implementations of kernels/backward/pointwise.h, in double.
#pragma once

#include "vig/kernels/backward/pointwise.h"

namespace vig::reference {

void pointwise_backward(const PointwiseBackwardArgs& args);
void scale_backward(const ScaleBackwardArgs& args);
void add_column_sums(const float* rows, int64_t stride, int64_t count, int64_t channels,
                     float* sums);
void gated_mix_backward(const GatedMixBackwardArgs& args);

}  // namespace vig::reference
