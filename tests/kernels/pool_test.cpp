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

TEST_P(PoolOnTarget, MaxEqualsTwinWholeAndInRuns) {
  for (const ConvGrid& grid : {ConvGrid{7, 8, 19}, ConvGrid{5, 3, 35}, ConvGrid{6, 6, 8}}) {
    for (const Windows& w : {Windows{3, 2, 1, 1, 0, 0}, {2, 2, 0, 0, 0, 0}, {3, 1, 1, 1, 0, 0}}) {
      MaxPoolArgs args;
      args.grid = grid;
      args.windows = w;
      args.windows.height = (grid.height + 2 * w.top - w.kernel) / w.stride + 1;
      args.windows.width = (grid.width + 2 * w.left - w.kernel) / w.stride + 1;
      Sheet in(2 * grid.height * grid.width, grid.channels, 0, 1);
      in.noise(3, -2.0f, -1.0f);  // below the zeros of padding, which must not win
      args.in = in.data();
      const int64_t rows = 2 * args.windows.height * args.windows.width;
      Sheet fast(rows, grid.channels, 3, 1), slow = fast;
      args.out_stride = fast.stride;
      args.last_row = rows;
      args.out = slow.data();
      reference::max_pool(args);
      for (int64_t first = 0; first < rows; first += 5) {
        args.first_row = first;
        args.last_row = std::min(rows, first + 5);
        args.out = fast.data() + first * fast.stride;
        max_pool(args);
      }
      ASSERT_TRUE(test::same_bits(fast, slow)) << w.kernel << " " << w.stride;
      ASSERT_TRUE(fast.gaps_untouched());
    }
  }
}

TEST_P(PoolOnTarget, NotANumberIsTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& in : {std::vector<float>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}}) {
    float out = 0;
    MaxPoolArgs args{in.data(), {1, 3, 1}, {3, 1, 1, 0, 1, 1}, 0, 1, &out, 1};
    max_pool(args);
    EXPECT_TRUE(std::isnan(out));
  }
}

VIG_ON_EVERY_TARGET(PoolOnTarget);

}  // namespace
}  // namespace vig
