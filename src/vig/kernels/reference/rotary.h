// Reference implementation of kernels/rotary.h, in double.
#pragma once

#include "vig/kernels/rotary.h"

namespace vig::reference {

void rotary(const RotaryArgs& args);

}  // namespace vig::reference
