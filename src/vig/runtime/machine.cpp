#include "vig/runtime/machine.h"

#include "vig/kernels/peak.h"

namespace vig {

double measure_machine_peak(int threads, double seconds) {
  return measure_fma_peak(threads, seconds);
}

std::string machine_simd() { return simd_target(); }

}  // namespace vig
