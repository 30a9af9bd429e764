// The instruction sets that kernels are compiled for, by the names people know: "AVX-512", "AVX2",
// "SSE4", "NEON" and, without any of them, "plain".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vig {

// The set that kernels run with here.
std::string simd_target();

// Those that are compiled and that this machine has, the best first.
std::vector<std::string> simd_targets();

// Makes all kernels of this process, and the peak loop, run with one of simd_targets(); "avx512"
// and "AVX-512" are the same name. Dot products of bytes (VNNI) belong to none of the sets and are
// not used then. Throws if there is no such set. Call it while no kernel runs and
// before weights are packed, because their layout follows the set.
void use_simd_target(std::string_view name);

// One sentence if kernels run as the slow baseline although this machine has a better instruction
// set: they were compiled for the set of another machine. Empty otherwise.
std::string simd_warning();
// The same of any build and machine. `compiled` and `machine`: names of sets, the best first;
// `compiled` ends with its baseline.
std::string simd_warning(const std::vector<std::string>& compiled,
                         const std::vector<std::string>& machine);

}  // namespace vig
