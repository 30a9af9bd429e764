// The functions of math-inl.h that kernels only use inside others, against the bounds stated there.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/math_test.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/math-inl.h"
#include "vig/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

void exp_all(std::vector<float>& x) {
  for_each_vector(x.size(), [&](size_t i, const auto& load, const auto& store)
                                HWY_ATTR { store(exp_clamped(load(x.data() + i)), x.data() + i); });
}

void reciprocal_all(std::vector<float>& x) {
  for_each_vector(x.size(), [&](size_t i, const auto& load, const auto& store)
                                HWY_ATTR { store(reciprocal(load(x.data() + i)), x.data() + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/on_targets.h"

namespace vig {
namespace {

HWY_EXPORT(exp_all);
HWY_EXPORT(reciprocal_all);

class MathOnTarget : public test::OnTarget {};

std::vector<float> between(double low, double high, int count) {
  std::vector<float> values;
  for (int i = 0; i <= count; ++i) {
    values.push_back(static_cast<float>(low + (high - low) * i / count));
  }
  return values;
}

TEST_P(MathOnTarget, Exponential) {
  const std::vector<float> x = between(-87.0, 87.0, 400'000);
  std::vector<float> y = x;
  HWY_DYNAMIC_DISPATCH(exp_all)(y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = std::exp(static_cast<double>(x[i]));
    ASSERT_LE(std::fabs(y[i] / want - 1.0), std::fabs(x[i]) <= 20.0f ? 1.5e-7 : 4e-7) << x[i];
  }
  std::vector<float> ends = {87.0f, 1e3f, 3e38f, INFINITY, -87.0f, -1e3f, -3e38f, -INFINITY};
  HWY_DYNAMIC_DISPATCH(exp_all)(ends);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(ends[i], ends[i / 4 * 4]) << i;
  EXPECT_TRUE(std::isfinite(ends[0]));
  EXPECT_GT(ends[4], 0.0f);
}

TEST_P(MathOnTarget, Reciprocal) {
  std::vector<float> x = between(1.0, 4.0, 100'000);
  for (float v = 1.0f; v < 0x1p126f; v *= 1.37f) x.push_back(v);
  std::vector<float> y = x;
  HWY_DYNAMIC_DISPATCH(reciprocal_all)(y);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(y[i]) * x[i] - 1.0), 2.5e-7) << x[i];
  }
}

VIG_ON_EVERY_TARGET(MathOnTarget);

}  // namespace
}  // namespace vig

#endif  // HWY_ONCE
