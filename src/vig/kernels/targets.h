// The instruction sets that kernels are compiled for, by the names people know: "AVX-512", "AVX2",
// "SSE4", "NEON" and, without any of them, "plain".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig {

// The set that kernels run with here.
std::string simd_target();

// Those that this machine has, the best first.
std::vector<std::string> simd_targets();

// Makes all kernels of this process, and the peak loop, run with one of simd_targets(); "avx512"
// and "AVX-512" are the same name. Throws when this machine has no such set. Call it while no
// kernel runs and before weights are packed, because their layout follows the set.
void use_simd_target(std::string_view name);

}  // namespace vig
