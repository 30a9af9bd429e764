#include "vig/kernels/map_resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/backward/map_resize.h"
#include "vig/kernels/reference/map_resize.h"

namespace vig {
namespace {

using test::Sheet;

struct Sizes {
  int64_t height, width, out_height, out_width;
};

// Up and down, by whole factors and others, from and to single lines, to the same size.
constexpr Sizes kSizes[] = {{7, 9, 13, 20}, {7, 9, 5, 4}, {7, 9, 3, 9}, {7, 9, 14, 18},
                            {4, 6, 2, 3},   {1, 1, 4, 5}, {5, 3, 1, 1}, {1, 7, 3, 2},
                            {9, 2, 17, 8},  {5, 4, 5, 4}};

std::vector<MapGrids> grids_of(const Sizes& s) {
  return {MapGrids::bilinear(s.height, s.width, s.out_height, s.out_width),
          MapGrids::nearest(s.height, s.width, s.out_height, s.out_width)};
}

MapResizeArgs args_of(const MapGrids& grids, const Sheet& in, Sheet& out, int64_t first,
                      int64_t last, const Sheet* residual) {
  MapResizeArgs args;
  args.grids = &grids;
  args.in = in.data();
  args.in_stride = in.stride;
  args.channels = out.width();
  args.first_row = first;
  args.last_row = last;
  args.out = out.data() + first * out.stride;
  args.out_stride = out.stride;
  if (residual != nullptr) {
    args.residual = residual->data() + first * residual->stride;
    args.residual_stride = residual->stride;
  }
  return args;
}

class MapResizeOnTarget : public test::OnTarget {};

TEST_P(MapResizeOnTarget, EqualsReferenceWholeAndInRuns) {
  for (const Sizes& sizes : kSizes) {
    for (const int64_t channels : {1, 3, 8, 19, 35}) {
      for (const MapGrids& grids : grids_of(sizes)) {
        for (const bool adds : {false, true}) {
          const int64_t rows = 2 * sizes.out_height * sizes.out_width;
          Sheet in(2 * sizes.height * sizes.width, channels, 3, 1);
          in.noise(static_cast<uint32_t>(rows + channels));
          Sheet added(rows, channels, 2, 3);
          added.noise(7);
          Sheet fast(rows, channels, 5, 1), slow = fast, parts = fast;
          const Sheet* residual = adds ? &added : nullptr;
          map_resize(args_of(grids, in, fast, 0, rows, residual));
          reference::map_resize(args_of(grids, in, slow, 0, rows, residual));
          for (int64_t first = 0; first < rows; first += 5) {
            map_resize(args_of(grids, in, parts, first, std::min(rows, first + 5), residual));
          }
          // Weighted means of values below 1, and a sum of at most 2: a few roundings.
          ASSERT_LE(test::distance(fast, slow), 3e-7) << sizes.height << " to " << sizes.out_height;
          ASSERT_TRUE(test::same_bits(fast, parts));
          ASSERT_TRUE(fast.gaps_untouched());
        }
      }
    }
  }
}

// What is added behind must be the sum of what stands alone, bit by bit, and may be the output.
TEST_P(MapResizeOnTarget, AddsTheResidualAfterRounding) {
  const MapGrids grids = MapGrids::bilinear(3, 5, 7, 8);
  Sheet in(15, 21), added(56, 21), alone(56, 21);
  in.noise(1);
  added.noise(2);
  map_resize(args_of(grids, in, alone, 0, 56, nullptr));
  Sheet want = alone;
  for (int64_t r = 0; r < 56; ++r) {
    for (int64_t c = 0; c < 21; ++c) want.at(r, c) = added.at(r, c) + alone.at(r, c);
  }
  Sheet sum = added;
  map_resize(args_of(grids, in, sum, 0, 56, &sum));
  EXPECT_TRUE(test::same_bits(sum, want));
}

TEST_P(MapResizeOnTarget, GradientEqualsReference) {
  for (const Sizes& sizes : kSizes) {
    for (const int64_t channels : {1, 8, 19}) {
      for (const MapGrids& grids : grids_of(sizes)) {
        Sheet dy(2 * sizes.out_height * sizes.out_width, channels);
        dy.noise(static_cast<uint32_t>(channels));
        Sheet fast(2 * sizes.height * sizes.width, channels), slow = fast;
        map_resize_backward({&grids, dy.data(), 2, channels, fast.data()});
        reference::map_resize_backward({&grids, dy.data(), 2, channels, slow.data()});
        // Sums of up to 260 terms below 1.
        ASSERT_LE(test::distance(fast, slow), 2e-6) << sizes.height << " to " << sizes.out_height;
      }
    }
  }
}

VIG_ON_EVERY_TARGET(MapResizeOnTarget);

// The adjoint of a linear map: <dy, A x> = <A^T dy, x>.
TEST(MapResize, ReferenceGradientIsTheAdjoint) {
  for (const Sizes& sizes : kSizes) {
    for (const MapGrids& grids : grids_of(sizes)) {
      const int64_t rows = sizes.out_height * sizes.out_width;
      Sheet x(sizes.height * sizes.width, 3), y(rows, 3), dy(rows, 3), dx = x;
      x.noise(1);
      dy.noise(2);
      reference::map_resize(args_of(grids, x, y, 0, rows, nullptr));
      reference::map_resize_backward({&grids, dy.data(), 1, 3, dx.data()});
      double forward = 0.0, backward = 0.0;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < 3; ++c) forward += static_cast<double>(y.at(r, c)) * dy.at(r, c);
      }
      for (int64_t r = 0; r < x.rows(); ++r) {
        for (int64_t c = 0; c < 3; ++c) backward += static_cast<double>(x.at(r, c)) * dx.at(r, c);
      }
      EXPECT_NEAR(forward, backward, 1e-5) << sizes.height << " to " << sizes.out_height;
    }
  }
}

TEST(MapResize, TapsFollowTheirFormulas) {
  for (int64_t in = 1; in <= 20; ++in) {
    for (int64_t out = 1; out <= 40; ++out) {
      const std::vector<MapTap> between = bilinear_taps(in, out), nearest = nearest_taps(in, out);
      for (int64_t i = 0; i < out; ++i) {
        const double exact =
            (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) -
            0.5;
        const double position = std::clamp(exact, 0.0, static_cast<double>(in - 1));
        const MapTap& tap = between[static_cast<size_t>(i)];
        ASSERT_GE(tap.first, 0);
        ASSERT_LT(tap.second, in);
        ASSERT_EQ(tap.second, tap.first + (tap.weight > 0.0f ? 1 : 0));
        ASSERT_NEAR(tap.first + static_cast<double>(tap.weight), position, 1e-5)
            << in << " " << out;
        const MapTap& at = nearest[static_cast<size_t>(i)];
        ASSERT_EQ(at.first, i * in / out);
        ASSERT_EQ(at.second, at.first);
        ASSERT_EQ(at.weight, 0.0f);
      }
    }
  }
}

TEST(MapResize, TheSameSizeIsTheIdentityAndHalfOfItTheMean) {
  Sheet in(24, 5);
  in.noise(1);
  Sheet same = in, half(6, 5);
  map_resize(args_of(MapGrids::bilinear(4, 6, 4, 6), in, same, 0, 24, nullptr));
  EXPECT_TRUE(test::same_bits(in, same));
  map_resize(args_of(MapGrids::bilinear(4, 6, 2, 3), in, half, 0, 6, nullptr));
  for (int64_t r = 0; r < 6; ++r) {
    const int64_t from = r / 3 * 12 + r % 3 * 2;
    for (int64_t c = 0; c < 5; ++c) {
      const float mean =
          (in.at(from, c) + in.at(from + 1, c) + in.at(from + 6, c) + in.at(from + 7, c)) / 4;
      EXPECT_NEAR(half.at(r, c), mean, 1e-7);
    }
  }
}

}  // namespace
}  // namespace vig
