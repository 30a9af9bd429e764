// What this machine can do at best: the rate of independent fused multiply-adds in registers.
#pragma once

#include <string>

namespace vig {

// GFLOP/s (a multiply-add is two) of `threads` threads together, over about `seconds`.
double measure_fma_peak(int threads, double seconds);

// The instruction set that kernels run with here: "AVX-512", "AVX2", "SSE4", "NEON".
std::string simd_target();

}  // namespace vig
