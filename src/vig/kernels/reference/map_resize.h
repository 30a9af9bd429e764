// Reference implementations of kernels/map_resize.h and kernels/backward/map_resize.h, in double.
#pragma once

#include "vig/kernels/backward/map_resize.h"
#include "vig/kernels/map_resize.h"

namespace vig::reference {

void map_resize(const MapResizeArgs& args);
void map_resize_backward(const MapResizeBackwardArgs& args);

}  // namespace vig::reference
