// The machine that the engine runs on.
#pragma once

#include <string>
#include <string_view>

namespace vig {

// GFLOP/s of fused multiply-adds (each counts two) that `threads` threads reach together, measured
// over about `seconds`.
double measure_machine_peak(int threads, double seconds);

// The name of its processor; "unknown processor" where the system does not say.
std::string machine_cpu();

// The instruction set that the engine runs with here: "AVX-512", "AVX2", "NEON".
std::string machine_simd();

// Makes the engine run with another set that is compiled and that this machine has; throws if there
// is none of this name. Call it before the first model is loaded.
void use_machine_simd(std::string_view name);

// One sentence if the engine was compiled for the instruction set of another machine and is slow on
// this one; empty otherwise.
std::string machine_warning();

}  // namespace vig
