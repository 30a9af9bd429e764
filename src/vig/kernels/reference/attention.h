// Reference implementations of kernels/attention.h and kernels/backward/attention.h: the formulas
// as they are written there, in double, one query after the other. They use neither packed keys nor
// scratch; where a gradient is wanted, args.forward.lse and o are computed again and not read.
#pragma once

#include "vig/kernels/attention.h"
#include "vig/kernels/backward/attention.h"

namespace vig::reference {

void attention(const AttentionArgs& args);
void attention_backward(const AttentionBackwardArgs& args);

}  // namespace vig::reference
