#include "vig/kernels/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/pool.h"

namespace vig {
namespace {

using test::Sheet;

void expect_reference(int64_t rows, int64_t channels, float low, double tolerance) {
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

TEST_P(PoolOnTarget, EqualsReference) {
  for (const int64_t rows : {1, 2, 49, 127, 128, 129, 300}) {
    for (int64_t channels = 0; channels <= 35; ++channels) {
      expect_reference(rows, channels, -1.0f, 1e-6);  // blocks of 128 additions at most 128 large
    }
  }
}

// Positive values only: nothing cancels, and a single running sum would lose four digits. Blocks
// of 128 keep the relative error near (128 + 1563) / 2 roundings of 6e-8 at the very worst.
TEST_P(PoolOnTarget, LongSequencesStayExact) { expect_reference(200'000, 17, 0.0f, 2e-5); }

// All additions round in the same direction: one running sum would be off by 4 in 1000, sums of
// blocks are by 6 in 100 000 at most.
TEST_P(PoolOnTarget, TheMeanOfEqualValuesIsExact) {
  Sheet in(200'000, 3), mean(1, 3);
  in.fill([] { return 0.1f; });
  mean_rows(in.data(), in.stride, in.rows(), 3, mean.data());
  for (int64_t c = 0; c < 3; ++c) EXPECT_NEAR(mean.at(0, c), 0.1f, 1e-5);
}

TEST_P(PoolOnTarget, PartsOfAMeanGiveTheSameBits) {
  constexpr int64_t kChannels = 19;
  for (const int64_t rows : {1, 127, 128, 129, 256, 700}) {
    Sheet in(rows, kChannels, 3, 1);
    in.noise(static_cast<uint32_t>(rows), -1.0f, 1.0f);
    std::vector<float> whole(kChannels), parts(kChannels), sums(2 * kChannels);
    mean_rows(in.data(), in.stride, rows, kChannels, whole.data());
    for (const int64_t part : {1, 50, 128, 130, 300}) {
      for (int64_t first = 0; first < rows; first += part) {
        const int64_t last = std::min(rows, first + part);
        mean_rows_part({in.data() + first * in.stride, in.stride, first, last, rows, kChannels,
                        sums.data(), parts.data()});
      }
      EXPECT_EQ(parts, whole) << rows << " rows in parts of " << part;
    }
  }
}

TEST_P(PoolOnTarget, MaxEqualsReferenceWholeAndInRuns) {
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

// Cells that divide the map, cells that overlap, more cells than positions.
TEST_P(PoolOnTarget, CellsEqualReferenceForwardAndBackward) {
  for (const ConvGrid& grid : {ConvGrid{7, 10, 19}, ConvGrid{6, 6, 8}, ConvGrid{1, 3, 35},
                               ConvGrid{16, 13, 3}, ConvGrid{40, 1, 16}}) {
    for (const int64_t cells : {1, 2, 3, 6}) {
      constexpr int64_t kBatch = 2;
      const int64_t positions = grid.height * grid.width;
      Sheet in(positions, grid.channels, 3, 1);
      in.noise(static_cast<uint32_t>(cells));
      Sheet fast(cells * cells, grid.channels, 5, 3), slow = fast;
      pool_cells({in.data(), in.stride, grid, cells, fast.data(), fast.stride});
      reference::pool_cells({in.data(), in.stride, grid, cells, slow.data(), slow.stride});
      ASSERT_LE(test::distance(fast, slow), 5e-7) << grid.height << " " << cells;
      ASSERT_TRUE(fast.gaps_untouched());
      Sheet dy(kBatch * cells * cells, grid.channels), dx(kBatch * positions, grid.channels);
      dy.noise(5);
      Sheet slow_dx = dx;
      pool_cells_backward({dy.data(), kBatch, grid, cells, dx.data()});
      reference::pool_cells_backward({dy.data(), kBatch, grid, cells, slow_dx.data()});
      ASSERT_LE(test::distance(dx, slow_dx), 2e-6) << grid.height << " " << cells;  // 36 terms
    }
  }
}

VIG_ON_EVERY_TARGET(PoolOnTarget);

// 7 positions in 3 cells: [0, 3), [2, 5), [4, 7).
TEST(PoolCells, OverlapWhereTheyDoNotDivide) {
  for (const auto& [cell, begin, end] : {std::array{0, 0, 3}, {1, 2, 5}, {2, 4, 7}}) {
    EXPECT_EQ(cell_begin(cell, 7, 3), begin);
    EXPECT_EQ(cell_end(cell, 7, 3), end);
  }
  const std::vector<float> in = {1, 2, 4, 8, 16, 32, 64};
  for (const auto pool : {pool_cells, reference::pool_cells}) {
    std::vector<float> out(9);
    pool({in.data(), 1, {7, 1, 1}, 3, out.data(), 1});
    EXPECT_FLOAT_EQ(out[0], 7.0f / 3);
    EXPECT_FLOAT_EQ(out[4], 28.0f / 3);
    EXPECT_FLOAT_EQ(out[8], 112.0f / 3);
  }
}

// Every result gives back what it has received, shared out over its cell.
TEST(PoolCells, GradientAddsUp) {
  const std::vector<float> dy(2 * 9, 1.0f);
  std::vector<float> dx(2 * 35);
  pool_cells_backward({dy.data(), 2, {7, 5, 1}, 3, dx.data()});
  EXPECT_NEAR(std::accumulate(dx.begin(), dx.end(), 0.0), 18.0, 1e-5);
}

}  // namespace
}  // namespace vig
