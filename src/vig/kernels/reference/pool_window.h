// Reference implementations of kernels/pool_window.h, in double.
#pragma once

#include "vig/kernels/pool_window.h"

namespace vig::reference {

void pool_windows(const PoolArgs& args);
// Of the rows args names, though it goes through the windows of all `batch` pictures.
void pool_windows_backward(int64_t batch, const PoolBackwardArgs& args);

}  // namespace vig::reference
