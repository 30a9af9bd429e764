// The machine that the engine runs on.
#pragma once

#include <string>

namespace vig {

// GFLOP/s of fused multiply-adds (each counts two) that `threads` threads reach together, measured
// over about `seconds`.
double measure_machine_peak(int threads, double seconds);

// The instruction set that the engine has chosen here: "AVX2", "NEON".
std::string machine_simd();

}  // namespace vig
