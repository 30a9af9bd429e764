#include "vig/kernels/pool_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "kernels/slope.h"
#include "vig/kernels/reference/pool_window.h"

namespace vig {
namespace {

using test::Sheet;

constexpr int64_t kBatch = 2;
constexpr PoolKind kKinds[] = {PoolKind::kMax, PoolKind::kMean, PoolKind::kMeanInside};

struct Pool {
  explicit Pool(const PoolWindow& w)
      : window(w),
        in(kBatch * w.in.height * w.in.width, w.in.channels, 0, 1),
        dy(kBatch * w.out_height() * w.out_width(), w.in.channels, 0, 1) {
    in.noise(1);
    dy.noise(2);
  }
  std::string name() const {
    return std::to_string(window.in.height) + " x " + std::to_string(window.in.width) + " x " +
           std::to_string(window.in.channels) + ", kernel " + std::to_string(window.kernel) +
           ", stride " + std::to_string(window.stride) + ", padding " +
           std::to_string(window.padding) + ", kind " +
           std::to_string(static_cast<int>(window.kind));
  }
  Sheet output() const { return Sheet(dy.rows(), dy.width(), 5, 3); }
  Sheet gradient() const { return Sheet(in.rows(), in.width(), 5, 3); }
  PoolArgs args(Sheet& out, int64_t first, int64_t last) const {
    return {window, in.data(), first, last, out.data() + first * out.stride, out.stride};
  }
  PoolBackwardArgs backward(Sheet& dx, int64_t first, int64_t last) const {
    return {window, in.data(), dy.data(), first, last, dx.data() + first * dx.stride, dx.stride};
  }

  PoolWindow window;
  Sheet in, dy;
};

void expect_reference(const PoolWindow& w) {
  const Pool pool(w);
  Sheet fast = pool.output(), slow = pool.output(), parts = pool.output();
  pool_windows(pool.args(fast, 0, fast.rows()));
  reference::pool_windows(pool.args(slow, 0, slow.rows()));
  ASSERT_LE(test::distance(fast, slow), w.kind == PoolKind::kMax ? 0.0 : 1e-6) << pool.name();
  ASSERT_TRUE(fast.gaps_untouched()) << pool.name();
  for (int64_t r = 0; r < parts.rows(); r += 3) {
    pool_windows(pool.args(parts, r, std::min(parts.rows(), r + 3)));
  }
  ASSERT_TRUE(test::same_bits(fast, parts)) << pool.name();

  Sheet dx = pool.gradient(), dx_slow = pool.gradient(), dx_parts = pool.gradient();
  pool_windows_backward(pool.backward(dx, 0, dx.rows()));
  reference::pool_windows_backward(kBatch, pool.backward(dx_slow, 0, dx.rows()));
  ASSERT_LE(test::distance(dx, dx_slow), 1e-6) << pool.name();
  ASSERT_TRUE(dx.gaps_untouched()) << pool.name();
  for (int64_t r = 0; r < dx.rows(); r += 4) {
    pool_windows_backward(pool.backward(dx_parts, r, std::min(dx.rows(), r + 4)));
  }
  ASSERT_TRUE(test::same_bits(dx, dx_parts)) << pool.name();
}

class PoolWindowOnTarget : public test::OnTarget {};

TEST_P(PoolWindowOnTarget, EqualsReference) {
  for (const PoolKind kind : kKinds) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t padding : {int64_t{0}, kernel / 2}) {
          for (const auto& [height, width] : {std::pair(1, 1), std::pair(3, 2), std::pair(8, 9)}) {
            if (height + 2 * padding < kernel || width + 2 * padding < kernel) continue;
            for (const int64_t channels : {1, 3, 17, 64}) {
              expect_reference({kind, {height, width, channels}, kernel, stride, padding});
            }
          }
        }
      }
    }
  }
}

// Equal neighbours: the first takes the whole gradient. A NaN is passed on.
TEST_P(PoolWindowOnTarget, TiesAndNaN) {
  Pool pool({PoolKind::kMax, {4, 5, 9}, 3, 2, 1});
  pool.in.fill([] { return 0.25f; });
  Sheet dx = pool.gradient(), slow = pool.gradient();
  pool_windows_backward(pool.backward(dx, 0, dx.rows()));
  reference::pool_windows_backward(kBatch, pool.backward(slow, 0, dx.rows()));
  EXPECT_LE(test::distance(dx, slow), 0.0);
  pool.in.at(7, 4) = std::numeric_limits<float>::quiet_NaN();  // y 1, x 2
  Sheet out = pool.output();
  pool_windows(pool.args(out, 0, out.rows()));
  for (int64_t r = 0; r < out.rows(); ++r) {
    EXPECT_EQ(std::isnan(out.at(r, 4)), r == 1 || r == 4) << r;
    EXPECT_EQ(out.at(r, 3), 0.25f);
  }
}

VIG_ON_EVERY_TARGET(PoolWindowOnTarget);

TEST(PoolWindow, ReferenceGradientsAreSlopes) {
  for (const PoolKind kind : kKinds) {
    Pool pool({kind, {4, 5, 2}, 3, 2, 1});
    // Steps of slope.h must not change which value is largest.
    int turn = 0;
    pool.in.fill([&] { return static_cast<float>(turn++ * 37 % 80) / 4.0f; });
    Sheet dx = pool.gradient();
    reference::pool_windows_backward(kBatch, pool.backward(dx, 0, dx.rows()));
    const auto value = [&] {
      Sheet out = pool.output();
      reference::pool_windows(pool.args(out, 0, out.rows()));
      double sum = 0.0;
      for (int64_t r = 0; r < out.rows(); ++r) {
        for (int64_t c = 0; c < out.width(); ++c) {
          sum += static_cast<double>(pool.dy.at(r, c)) * out.at(r, c);
        }
      }
      return sum;
    };
    for (int64_t r = 0; r < dx.rows(); ++r) {
      for (int64_t c = 0; c < dx.width(); ++c) {
        // Values up to 20 round to 1e-6, divided by the step of 1/32.
        EXPECT_NEAR(dx.at(r, c), test::slope(pool.in.at(r, c), value), 4e-4);
      }
    }
  }
}

}  // namespace
}  // namespace vig
