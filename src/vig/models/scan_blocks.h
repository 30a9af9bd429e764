// Pieces that families of state space models share.
#pragma once

#include "vig/graph/init.h"

namespace vig {

// The width of the low-rank steps: a sixteenth of the channels.
inline int step_rank(int channels) { return (channels + 15) / 16; }

// The bias of the steps of a fresh state space model: softplus of it is log-uniform in [0.001,
// 0.1].
Init step_bias_init();
// The weight of the steps, [.., rank]: uniform within rank^-1/2.
Init step_weight_init(int rank);

}  // namespace vig
