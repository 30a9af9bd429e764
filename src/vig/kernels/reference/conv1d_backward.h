// Reference implementation of kernels/backward/conv1d.h, in double.
#pragma once

#include "vig/kernels/backward/conv1d.h"

namespace vig::reference {

void conv1d_backward(const Conv1dBackwardArgs& args);

}  // namespace vig::reference
