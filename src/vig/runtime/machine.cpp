#include "vig/runtime/machine.h"

#include <fstream>

#include "vig/kernels/peak.h"
#include "vig/kernels/targets.h"

namespace vig {

double measure_machine_peak(int threads, double seconds) {
  return measure_fma_peak(threads, seconds);
}

std::string machine_cpu() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string machine_simd() { return simd_target(); }

void use_machine_simd(std::string_view name) { use_simd_target(name); }

std::string machine_warning() { return simd_warning(); }

}  // namespace vig
