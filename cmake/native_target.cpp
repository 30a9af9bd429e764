// Run by CMake: prints the best instruction set of this machine that kernels are written for, by
// Highway's name; nothing if the machine has only the baseline.
#include <hwy/targets.h>

#include <cstdint>
#include <cstdio>

int main() {
  const char* best = "";
#if HWY_ARCH_X86
  const int64_t supported = hwy::SupportedTargets();
  if (supported & HWY_SSE4) best = "HWY_SSE4";
  if (supported & HWY_AVX2) best = "HWY_AVX2";
  if (supported & HWY_AVX3) best = "HWY_AVX3";
#endif
  std::fputs(best, stdout);
}
