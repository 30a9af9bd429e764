// The functions of exp-inl.h against the bounds stated there.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exp_test.cpp"
#include <hwy/foreach_target.h>
// foreach_target must come first.
#include <hwy/highway.h>

#include "vig/kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vig {
namespace HWY_NAMESPACE {

template <bool kVanishing>
HWY_INLINE void exp2_each(float a, std::vector<float>& b) {
  for_each_vector(b.size(), [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec left[1] = {hn::Set(RowTag(), a)}, right[1] = {load(b.data() + i)};
    RowVec power[1];
    exp2_products<kVanishing>(left, right, power);
    store(power[0], b.data() + i);
  });
}

void exp2_all(float a, bool vanishing, std::vector<float>& b) {
  vanishing ? exp2_each<true>(a, b) : exp2_each<false>(a, b);
}

bool has_fused() { return HWY_NATIVE_FMA; }

void softplus_all(std::vector<float>& x) {
  for_each_vector(x.size(), [&](size_t i, const auto& load, const auto& store) HWY_ATTR {
    const RowVec in[1] = {load(x.data() + i)};
    RowVec out[1];
    softplus(in, out);
    store(out[0], x.data() + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace vig
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/magnitudes.h"
#include "kernels/on_targets.h"
#include "vig/kernels/reference/selective_scan.h"

namespace vig {
namespace {

HWY_EXPORT(exp2_all);
HWY_EXPORT(softplus_all);
HWY_EXPORT(has_fused);

class ExpOnTarget : public test::OnTarget {};

TEST_P(ExpOnTarget, PowerOfAProduct) {
  std::vector<float> b;
  for (int i = 0; i <= 300'000; ++i) b.push_back(static_cast<float>(-41.6 * i / 300'000));
  for (float x = 1e-30f; x < 1.0f; x *= 1.1f) b.push_back(-x);
  const float a = 3.0f;
  const bool fused = HWY_DYNAMIC_DISPATCH(has_fused)();
  std::vector<float> plain = b, vanishing = b;
  HWY_DYNAMIC_DISPATCH(exp2_all)(a, false, plain);
  HWY_DYNAMIC_DISPATCH(exp2_all)(a, true, vanishing);
  for (size_t i = 0; i < b.size(); ++i) {
    const double product = static_cast<double>(a) * b[i], want = std::exp2(product);
    // Without fused operations the product is rounded.
    const double bound = 1.7e-7 + (fused ? 0.0 : 6e-8 * std::fabs(product));
    ASSERT_LE(std::fabs(plain[i] / want - 1.0), bound) << product;
    ASSERT_EQ(plain[i], vanishing[i]) << product;
  }
}

// Down to the least product, powers vanish and nothing overflows.
TEST_P(ExpOnTarget, PowersVanish) {
  std::vector<float> b = {-0.0f, -125.0f, -127.0f, -150.0f, -1000.0f, -65536.0f, -2097152.0f};
  HWY_DYNAMIC_DISPATCH(exp2_all)(1.0f, true, b);
  EXPECT_EQ(b[0], 1.0f);
  EXPECT_EQ(b[1], 0x1p-125f);
  for (size_t i = 2; i < b.size(); ++i) {
    EXPECT_GE(b[i], 0.0f) << i;
    EXPECT_LE(b[i], 0x1p-125f) << i;
  }
}

TEST_P(ExpOnTarget, Softplus) {
  const std::vector<float>& x = test::all_magnitudes();
  std::vector<float> y = x;
  const bool fused = HWY_DYNAMIC_DISPATCH(has_fused)();
  HWY_DYNAMIC_DISPATCH(softplus_all)(y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = reference::softplus(static_cast<double>(x[i]));
    // Below -86 the exponential stays at e^-86. Without fused operations products are rounded.
    const double relative = (x[i] < -20.0f ? 2e-6 : 4e-7) + (fused ? 0.0 : 1e-7 * std::fabs(x[i]));
    const double bound = x[i] < -86.0f ? 5e-38 : relative * want;
    ASSERT_LE(std::fabs(y[i] - want), bound) << x[i];
  }
}

VIG_ON_EVERY_TARGET(ExpOnTarget);

}  // namespace
}  // namespace vig

#endif  // HWY_ONCE
