#include "vig/kernels/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "vig/base/error.h"
#include "vig/kernels/dot_strips.h"

namespace vig {
namespace {

std::string name_for_people(int64_t target) {
  if (target == HWY_SCALAR || target == HWY_EMU128) return "plain";
#if HWY_ARCH_X86
  if (target == HWY_AVX3 || target == HWY_AVX3_DL) return "AVX-512";
#endif
  return hwy::TargetName(target);
}

// Capitals and hyphens do not count.
std::string typed(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// What dispatch can pick from, one bit a target, the lowest the best.
int64_t available() { return hwy::SupportedTargets() & HWY_TARGETS; }

std::vector<std::string> names(int64_t targets) {
  std::vector<std::string> found;
  for (; targets != 0; targets &= targets - 1) found.push_back(name_for_people(targets & -targets));
  return found;
}

// The sets of a build for all machines.
#if HWY_ARCH_X86
constexpr int64_t kPortable = HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_STATIC_TARGET;
#else
constexpr int64_t kPortable = HWY_TARGETS;
#endif

}  // namespace

std::string simd_target() { return name_for_people(available() & -available()); }

std::vector<std::string> simd_targets() { return names(available()); }

void use_simd_target(std::string_view name) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (typed(name_for_people(target)) != typed(name)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    allow_dot_strips(false);
    return;
  }
  fail_usage(
      "instruction set \"{}\": expected one that is compiled and that this machine has: {} "
      "(-DVIG_NATIVE=OFF compiles all)",
      name, fmt::join(simd_targets(), ", "));
}

std::string simd_warning() {
  return simd_warning(names(HWY_TARGETS), names(hwy::SupportedTargets() & kPortable));
}

std::string simd_warning(const std::vector<std::string>& compiled,
                         const std::vector<std::string>& machine) {
  const auto used =
      std::find_first_of(compiled.begin(), compiled.end(), machine.begin(), machine.end());
  const bool baseline = used == compiled.end() || used + 1 == compiled.end();
  if (!baseline || compiled.size() < 2 || machine.empty() || machine[0] == compiled.back())
    return "";
  return fmt::format(
      "this build has kernels for {}, which this machine lacks, so they run as {} code, many times "
      "slower than with {}: delete the folder build and run ./vig again, or configure with "
      "-DVIG_NATIVE=OFF",
      compiled[0], compiled.back(), machine[0]);
}

}  // namespace vig
