// Which instruction sets the kernels are compiled for.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <string>

#include "kernels/on_targets.h"
#include "vig/kernels/peak.h"

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
  EXPECT_EQ(simd_target(), hwy::TargetName(GetParam()));
  EXPECT_GT(measure_fma_peak(1, 0.001), 0.0);
}

VIG_ON_EVERY_TARGET(TargetsOnTarget);

}  // namespace
}  // namespace vig
