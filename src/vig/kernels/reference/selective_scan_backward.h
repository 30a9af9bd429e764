// Reference implementation of kernels/backward/selective_scan.h: the recurrences as they are
// written there, in double. Allocates all states; args.scratch is not used.
#pragma once

#include "vig/kernels/backward/selective_scan.h"

namespace vig::reference {

void selective_scan_backward(const SelectiveScanBackwardArgs& args);

}  // namespace vig::reference
