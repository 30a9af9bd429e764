// Reference implementation of kernels/gla.h: the recurrence as it is written there, in double, one
// direction after the other. Allocates its state; args.state is not used.
#pragma once

#include "vig/kernels/gla.h"

namespace vig::reference {

void gla(const GlaArgs& args);

}  // namespace vig::reference
