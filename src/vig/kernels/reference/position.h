// Reference implementations of kernels/position.h: every output sums over all entries of the table
// extended beyond its border, weighted by the cubic kernel, in double.
#pragma once

#include "vig/kernels/position.h"

namespace vig::reference {

void resize_positions(const PositionArgs& args);
void resize_positions_backward(const PositionBackwardArgs& args);

}  // namespace vig::reference
