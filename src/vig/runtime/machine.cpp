#include "vig/runtime/machine.h"

#include "vig/kernels/peak.h"
#include "vig/kernels/targets.h"

namespace vig {

double measure_machine_peak(int threads, double seconds) {
  return measure_fma_peak(threads, seconds);
}

std::string machine_simd() { return simd_target(); }

void use_machine_simd(std::string_view name) { use_simd_target(name); }

}  // namespace vig
