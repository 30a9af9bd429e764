// Reference implementation of kernels/selective_scan.h: the recurrence as it is written there, in
// double. Allocates its state, so that a sequence cannot be resumed; args.state is not used.
#pragma once

#include "vig/kernels/reference/activations.h"
#include "vig/kernels/selective_scan.h"

namespace vig::reference {

inline double softplus(double x) { return -log_sigmoid(-x); }

void selective_scan(const SelectiveScanArgs& args);

}  // namespace vig::reference
