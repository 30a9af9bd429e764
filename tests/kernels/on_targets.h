// Runs tests once for every SIMD target that is compiled in and that this machine has: derive a
// suite from OnTarget, write TEST_P, then VIG_ON_EVERY_TARGET(suite).
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <string>

namespace vig::test {

class OnTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace vig::test

#define VIG_ON_EVERY_TARGET(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(                                                  \
      Simd, suite, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
      [](const auto& test) { return std::string(hwy::TargetName(test.param)); })
