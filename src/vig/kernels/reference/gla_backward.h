// Reference implementation of kernels/backward/gla.h: the recurrences as they are written there, in
// double, one direction after the other. Allocates all states; args.scratch is not used.
#pragma once

#include "vig/kernels/backward/gla.h"

namespace vig::reference {

void gla_backward(const GlaBackwardArgs& args);

}  // namespace vig::reference
