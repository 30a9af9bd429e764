// Slow twins of kernels/position.h: every output asks the cubic kernel about every entry of the
// table extended beyond its border, in double.
#pragma once

#include "vig/kernels/position.h"

namespace vig::reference {

void resize_positions(const PositionArgs& args);
void resize_positions_backward(const PositionBackwardArgs& args);

}  // namespace vig::reference
