#include "vig/kernels/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/highway.h>

#include <cctype>
#include <cstdint>

#include "vig/base/error.h"

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

}  // namespace

std::string simd_target() { return name_for_people(available() & -available()); }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.push_back(name_for_people(target));
  }
  return names;
}

void use_simd_target(std::string_view name) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (typed(name_for_people(target)) != typed(name)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return;
  }
  fail_usage("instruction set \"{}\": this machine has {}", name, fmt::join(simd_targets(), ", "));
}

}  // namespace vig
