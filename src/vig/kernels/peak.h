// What this machine can do at best: the rate of independent fused multiply-adds in registers.
#pragma once

namespace vig {

// GFLOP/s (a multiply-add is two) of `threads` threads together, over about `seconds`.
double measure_fma_peak(int threads, double seconds);

}  // namespace vig
