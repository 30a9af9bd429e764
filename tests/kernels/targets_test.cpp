// Which instruction sets the kernels are compiled for.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cctype>
#include <string>
#include <vector>

#include "kernels/on_targets.h"
#include "support/errors.h"
#include "vig/kernels/dot_strips.h"
#include "vig/kernels/peak.h"
#include "vig/kernels/targets.h"

namespace vig {
namespace {

TEST(Targets, TheOnesThatMatterAreCompiled) {
#if HWY_ARCH_X86
  const int64_t wanted = HWY_AVX3 | HWY_AVX2 | HWY_SSE4;
#elif HWY_ARCH_ARM_A64
  const int64_t wanted = HWY_NEON;
#else
  const int64_t wanted = HWY_TARGETS;
#endif
  EXPECT_EQ(HWY_TARGETS & wanted, wanted);
  // A target whose vectors have no fixed size could not hold the kernels' arrays of them.
  EXPECT_EQ(HWY_TARGETS & (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128), 0);
}

class TargetsOnTarget : public test::OnTarget {};

// The tests of this folder really run what their name says.
TEST_P(TargetsOnTarget, IsTheOneInUse) {
  const std::string name = hwy::TargetName(GetParam());
  if (name == "AVX2" || name == "SSE4" || name == "NEON") {
    EXPECT_EQ(simd_target(), name);
  } else {
    EXPECT_EQ(simd_target(), name == "AVX3" ? "AVX-512" : "plain");
  }
  const double peak = measure_fma_peak(1, 0.001);  // in 10^9 operations a second
  EXPECT_GT(peak, 1e-3);
  EXPECT_LT(peak, 1e4);
}

// Later kernels see one target alone; the suite's TearDown widens the choice again.
TEST_P(TargetsOnTarget, CanBeChosenByName) {
  const std::string name = simd_target();
  hwy::SetSupportedTargetsForTest(0);
  const std::vector<std::string> all = simd_targets();
  EXPECT_EQ(all.front(), simd_target());
  std::string typed = name;  // "avx512", "sse4"
  std::erase(typed, '-');
  for (char& c : typed) c = static_cast<char>(std::tolower(c));
  use_simd_target(typed);
  EXPECT_EQ(simd_target(), name);
  EXPECT_EQ(simd_targets(), std::vector<std::string>{name});
  // VNNI belongs to no set: "AVX2" measures what a machine without it does.
  for (const DotStrips& strips : {vnni512_strips(), vnni256_strips(), sdot_strips()}) {
    EXPECT_EQ(strips.wide, nullptr);
  }
  allow_dot_strips(true);
}

TEST(Targets, AnUnknownNameIsRefused) {
  test::expect_error(ErrorCode::kUsage, {"mmx", simd_targets().front()},
                     [] { use_simd_target("mmx"); });
}

VIG_ON_EVERY_TARGET(TargetsOnTarget);

// A build for one machine on others: names of sets, the best first.
TEST(Targets, AMachineThatLacksTheCompiledSetIsWarned) {
  const std::string warning = simd_warning({"AVX-512", "plain"}, {"AVX2", "SSE4", "plain"});
  for (const char* word : {"AVX-512", "lacks", "plain code", "AVX2", "-DVIG_NATIVE=OFF"}) {
    EXPECT_NE(warning.find(word), std::string::npos) << word << ": " << warning;
  }
  EXPECT_EQ(warning.find(". "), std::string::npos) << "one sentence: " << warning;
  EXPECT_NE(simd_warning({"AVX2", "plain"}, {"SSE4", "plain"}), "");
  EXPECT_NE(simd_warning({"AVX2", "SSE2"}, {"SSE4", "SSE2"}), "") << "a baseline of another name";
}

TEST(Targets, AMachineWithTheCompiledSetIsNotWarned) {
  const std::vector<std::string> portable = {"AVX-512", "AVX2", "SSE4", "plain"};
  EXPECT_EQ(simd_warning(portable, portable), "");
  EXPECT_EQ(simd_warning(portable, {"SSE4", "plain"}), "");
  EXPECT_EQ(simd_warning(portable, {"plain"}), "") << "no build would be faster there";
  EXPECT_EQ(simd_warning({"AVX-512", "plain"}, portable), "");
  EXPECT_EQ(simd_warning({"AVX2", "plain"}, portable), "") << "slower than possible, but not slow";
  EXPECT_EQ(simd_warning({"AVX-512", "plain"}, {"plain"}), "");
  EXPECT_EQ(simd_warning({"NEON"}, {"NEON"}), "");
  EXPECT_EQ(simd_warning(), "") << "tests are compiled for all sets";
}

}  // namespace
}  // namespace vig
