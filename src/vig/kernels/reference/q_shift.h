// Reference implementations of kernels/q_shift.h, in double.
#pragma once

#include "vig/kernels/q_shift.h"

namespace vig::reference {

void q_shift_mix(const QShiftArgs& args);
void q_shift_mix_backward(const QShiftBackwardArgs& args);

}  // namespace vig::reference
