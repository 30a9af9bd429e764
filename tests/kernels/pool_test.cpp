#include "vig/kernels/pool.h"

#include <gtest/gtest.h>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/pool.h"

namespace vig {
namespace {

using test::Sheet;

void expect_twin(int64_t rows, int64_t channels, float low, double tolerance) {
  Sheet in(rows, channels, 3, 1);
  in.noise(static_cast<uint32_t>(rows * 100 + channels), low, 1.0f);
  Sheet fast(1, channels + 1, 0, 1), slow = fast;  // one float more, which must stay NaN
  mean_rows(in.data(), in.stride, rows, channels, fast.data());
  reference::mean_rows(in.data(), in.stride, rows, channels, slow.data());
  for (int64_t c = 0; c < channels; ++c) {
    ASSERT_NEAR(fast.at(0, c), slow.at(0, c), tolerance) << rows << " rows of " << channels;
  }
  ASSERT_TRUE(std::isnan(fast.at(0, channels)));
  ASSERT_TRUE(std::isnan(*(fast.data() - 1)));
}

class PoolOnTarget : public test::OnTarget {};

TEST_P(PoolOnTarget, EqualsTwin) {
  for (const int64_t rows : {1, 2, 49, 127, 128, 129, 300}) {
    for (int64_t channels = 0; channels <= 35; ++channels) {
      expect_twin(rows, channels, -1.0f, 1e-6);  // blocks of 128 additions at most 128 large
    }
  }
}

// Positive numbers only: nothing cancels, and a single running sum would lose four digits. Blocks
// of 128 keep the relative error near (128 + 1563) / 2 roundings of 6e-8 at the very worst.
TEST_P(PoolOnTarget, LongSequencesStayExact) { expect_twin(200'000, 17, 0.0f, 2e-5); }

VIG_ON_EVERY_TARGET(PoolOnTarget);

}  // namespace
}  // namespace vig
