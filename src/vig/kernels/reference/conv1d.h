// Reference implementation of kernels/conv1d.h, in double.
#pragma once

#include "vig/kernels/conv1d.h"

namespace vig::reference {

void conv1d(const Conv1dArgs& args);

}  // namespace vig::reference
