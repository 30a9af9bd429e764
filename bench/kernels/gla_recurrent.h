// The second version of docs/gla.md, kept as a baseline: the recurrence token by token, vectorised,
// one direction per call. The kernel of the engine is the third version, kernels/gla.h.
#pragma once

#include "vig/kernels/gla.h"

namespace vig::bench {

// Just one of args.alpha_forward and args.alpha_backward is given; value_dim is a multiple of 16.
void gla_recurrent(const GlaArgs& args);

}  // namespace vig::bench
