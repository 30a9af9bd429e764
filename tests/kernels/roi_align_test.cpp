#include "vig/kernels/roi_align.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/roi_align.h"

namespace vig {
namespace {

using test::Sheet;

struct Case {
  Case(int64_t rows, int64_t columns, int64_t c, float map_scale = 1.0f)
      : map(rows * columns, c, 3, 1), height(rows), width(columns), scale(map_scale) {
    map.noise(static_cast<uint32_t>(rows * 100 + columns));
  }
  RoiAlignArgs args(const std::vector<float>& box, int side, int ratio, Sheet& out) const {
    RoiAlignArgs args;
    args.map = {map.data(), map.stride, height, width, scale};
    args.channels = map.width();
    args.box = box.data();
    args.side = side;
    args.sampling_ratio = ratio;
    args.out = out.data();
    args.out_stride = out.stride;
    return args;
  }
  Sheet output(int side) const { return Sheet(side * side, map.width(), 2, 3); }
  Sheet align(const std::vector<float>& box, int side, int ratio) const {
    Sheet out = output(side);
    roi_align(args(box, side, ratio, out));
    return out;
  }

  Sheet map;
  int64_t height, width;
  float scale;
};

// Inside, across every border, outside, thin, empty, reversed, within one pixel.
const std::vector<std::vector<float>> kBoxes = {
    {10, 8, 45, 39},  {0, 0, 60, 44},   {-30, -20, 25, 12}, {40, 30, 200, 100}, {3, 3, 3.5f, 4},
    {20, 20, 20, 20}, {0, 11, 59, 12},  {500, 500, 600, 9}, {-9, -9, -5, -5},   {30, 20, 10, 10},
    {7.3f, 1, 9, 40}, {-4, -4, 64, 48}, {0, 0, 1000, 1000}, {59, 43, 61, 45},
};

class RoiAlignOnTarget : public test::OnTarget {};

TEST_P(RoiAlignOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t channels : {1, 5, 16, 67, 130}) {
    const Case c(11, 15, channels, 0.25f);
    for (const auto& box : kBoxes) {
      for (const int side : {1, 3, 7}) {
        for (const int ratio : {0, 1, 2}) {
          const Sheet fast = c.align(box, side, ratio);
          Sheet slow = c.output(side);
          reference::roi_align(c.args(box, side, ratio, slow));
          ASSERT_LE(test::distance(fast, slow), 1e-6)
              << box[0] << " " << box[1] << " " << box[2] << " " << box[3] << ", C " << channels
              << ", n " << side << ", ratio " << ratio;
          ASSERT_TRUE(fast.gaps_untouched());
        }
      }
    }
  }
}

TEST_P(RoiAlignOnTarget, RangesOfChannelsGiveTheSameBits) {
  const Case c(9, 9, 83);
  const std::vector<float> box = {1.3f, 2.1f, 8.4f, 7};
  const Sheet whole = c.align(box, 4, 0);
  Sheet parts = c.output(4);
  for (int64_t first = 0; first < 83; first += 19) {
    RoiAlignArgs args = c.args(box, 4, 0, parts);
    args.map.data += first;
    args.out += first;
    args.channels = std::min<int64_t>(19, 83 - first);
    roi_align(args);
  }
  EXPECT_TRUE(test::same_bits(whole, parts));
}

TEST_P(RoiAlignOnTarget, AConstantMapStaysConstant) {
  Case c(20, 30, 18);
  c.map.fill([] { return -1.25f; });
  for (const int ratio : {0, 2}) {
    const Sheet out = c.align({2.3f, 1.1f, 27.9f, 16.2f}, 7, ratio);
    for (int64_t p = 0; p < 49; ++p) EXPECT_NEAR(out.at(p, 17), -1.25f, 3e-7);
  }
}

TEST_P(RoiAlignOnTarget, ARampGivesTheMiddlesOfTheCells) {
  Case c(24, 40, 2, 0.5f);
  for (int64_t i = 0; i < 24 * 40; ++i) {
    c.map.at(i, 0) = static_cast<float>(i % 40);
    c.map.at(i, 1) = static_cast<float>(i / 40);
  }
  const std::vector<float> box = {5.5f, 6.25f, 71.0f, 40.0f};
  for (const int ratio : {0, 2, 3}) {
    const Sheet out = c.align(box, 7, ratio);
    for (int p = 0; p < 49; ++p) {
      const double x = box[0] * 0.5 - 0.5 + (p % 7 + 0.5) * (box[2] - box[0]) * 0.5 / 7;
      const double y = box[1] * 0.5 - 0.5 + (p / 7 + 0.5) * (box[3] - box[1]) * 0.5 / 7;
      EXPECT_NEAR(out.at(p, 0), x, 1e-5);
      EXPECT_NEAR(out.at(p, 1), y, 1e-5);
    }
  }
}

TEST_P(RoiAlignOnTarget, TheWholeMapInOneCellIsItsMean) {
  const Case c(13, 9, 3);
  const Sheet out = c.align({0, 0, 9, 13}, 1, 0);
  double mean = 0.0;
  for (int64_t i = 0; i < 13 * 9; ++i) mean += c.map.at(i, 2) / (13.0 * 9.0);
  EXPECT_NEAR(out.at(0, 2), mean, 1e-6);
}

TEST_P(RoiAlignOnTarget, EmptyAndFarBoxes) {
  const Case c(6, 6, 4);
  EXPECT_EQ(test::largest_magnitude(c.align({2.5f, 3.5f, 2.5f, 3.5f}, 3, 0)), 0.0);
  const Sheet point = c.align({2.5f, 3.5f, 2.5f, 3.5f}, 3, 2);
  for (int64_t p = 0; p < 9; ++p) EXPECT_EQ(point.at(p, 1), c.map.at(3 * 6 + 2, 1));
  EXPECT_EQ(test::largest_magnitude(c.align({100, 100, 120, 120}, 3, 0)), 0.0);
  EXPECT_EQ(test::largest_magnitude(c.align({-100, 0, -90, 5}, 3, 2)), 0.0);
}

// Up to a pixel outside of the map, that included, a sample is that of the border.
TEST_P(RoiAlignOnTarget, SamplesOnTheOutermostPositionsCount) {
  const Case c(6, 6, 4);
  const auto sample = [&](float x, float y) {  // at the position (x, y) of the map
    return c.align({x, y, x + 1, y + 1}, 1, 1).at(0, 3);
  };
  EXPECT_EQ(sample(-1, -1), c.map.at(0, 3));
  EXPECT_EQ(sample(6, 6), c.map.at(35, 3));
  EXPECT_EQ(sample(-1, 6), c.map.at(30, 3));
  for (const auto& [x, y] :
       {std::pair(-1.125f, 2.0f), {6.125f, 2.0f}, {2.0f, -1.125f}, {2.0f, 6.125f}}) {
    EXPECT_EQ(sample(x, y), 0.0f) << x << " " << y;
  }
}

// Work is bounded by the map, not by the box.
TEST_P(RoiAlignOnTarget, HugeAndBrokenBoxesTakeNoTime) {
  const Case c(6, 6, 4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& box : std::vector<std::vector<float>>{{-1e11f, -1e11f, 1e11f, 1e11f},
                                                         {-3e38f, 0, 3e38f, 6},
                                                         {nan, 0, 6, 6},
                                                         {0, 0, inf, 6},
                                                         {-inf, nan, inf, 0}}) {
    for (const int ratio : {0, 2}) {
      const Sheet out = c.align(box, 7, ratio);
      for (int64_t p = 0; p < 49; ++p) EXPECT_TRUE(std::isfinite(out.at(p, 0)));
    }
  }
}

VIG_ON_EVERY_TARGET(RoiAlignOnTarget);

TEST(RoiLevel, FollowsTheSizeOfTheBox) {
  const auto level = [](float width, float height) {
    const float box[4] = {16, 16, 16 + width, 16 + height};
    return roi_level(box, 56.0f, 4);
  };
  EXPECT_EQ(level(112, 112), 1);
  EXPECT_EQ(level(111.99f, 111.99f), 0);
  EXPECT_EQ(level(223.9f, 223.9f), 1);
  EXPECT_EQ(level(224, 224), 2);
  EXPECT_EQ(level(56, 224), 1);
  EXPECT_EQ(level(1, 1), 0);
  EXPECT_EQ(level(0, 5), 0);
  EXPECT_EQ(level(-5, 5), 0);
  EXPECT_EQ(level(448, 448), 3);
  EXPECT_EQ(level(896, 896), 3);  // one beyond the coarsest
  EXPECT_EQ(level(5000, 5000), 3);
  EXPECT_EQ(level(std::numeric_limits<float>::infinity(), 1), 3);
  EXPECT_EQ(level(std::numeric_limits<float>::quiet_NaN(), 1), 0);
}

TEST(RoiPyramid, TakesTheLevelOfTheBox) {
  const Case fine(40, 40, 5, 0.25f), coarse(20, 20, 5, 0.125f);
  const RoiMap maps[] = {{fine.map.data(), fine.map.stride, 40, 40, 0.25f},
                         {coarse.map.data(), coarse.map.stride, 20, 20, 0.125f}};
  for (const auto& [box, at] : {std::pair(std::vector<float>{8, 8, 70, 60}, &fine),
                                {std::vector<float>{4, 8, 150, 140}, &coarse}}) {
    Sheet out = fine.output(7);
    RoiPyramidArgs args;
    args.maps = maps;
    args.levels = 2;
    args.channels = 5;
    args.box = box.data();
    args.out = out.data();
    args.out_stride = out.stride;
    roi_align_pyramid(args);
    EXPECT_TRUE(test::same_bits(out, at->align(box, 7, 0)));
  }
}

TEST(RoiAxisWeights, AreThoseOfTheKernel) {
  const Case c(9, 12, 3, 0.5f);
  for (const auto& box : kBoxes) {
    std::vector<float> rows(5 * 9), columns(5 * 12);
    roi_axis_weights(box[1], box[3], 0.5f, 5, 0, 9, rows.data());
    roi_axis_weights(box[0], box[2], 0.5f, 5, 0, 12, columns.data());
    const Sheet out = c.align(box, 5, 0);
    for (int p = 0; p < 25; ++p) {
      double sum = 0.0;
      for (int i = 0; i < 9 * 12; ++i) {
        sum += static_cast<double>(rows[static_cast<size_t>(p / 5 * 9 + i / 12)]) *
               columns[static_cast<size_t>(p % 5 * 12 + i % 12)] * c.map.at(i, 1);
      }
      EXPECT_NEAR(out.at(p, 1), sum, 1e-6);
    }
  }
}

// ---- gradient ----

struct Gradient {
  explicit Gradient(const Case& c) : dmap(c.map.rows(), c.map.width(), 1, 2) {
    dmap.fill([] { return 0.25f; });
  }
  Sheet dmap;
};

RoiAlignBackwardArgs backward_args(const Case& c, const std::vector<float>& box, int side,
                                   int ratio, Sheet& grad, Sheet& dmap) {
  RoiAlignBackwardArgs args;
  args.forward = c.args(box, side, ratio, grad);
  args.forward.out = nullptr;
  args.grad_out = grad.data();
  args.grad_out_stride = grad.stride;
  args.dmap = dmap.data();
  args.dmap_stride = dmap.stride;
  return args;
}

class RoiAlignBackwardOnTarget : public test::OnTarget {};

TEST_P(RoiAlignBackwardOnTarget, EqualsReferenceOnUglySizes) {
  for (const int64_t channels : {1, 5, 67}) {
    const Case c(11, 15, channels, 0.25f);
    for (const auto& box : kBoxes) {
      for (const int ratio : {0, 2}) {
        Sheet grad = c.output(7);
        grad.noise(9);
        Gradient fast(c), slow(c);
        roi_align_backward(backward_args(c, box, 7, ratio, grad, fast.dmap));
        reference::roi_align_backward(backward_args(c, box, 7, ratio, grad, slow.dmap));
        ASSERT_LE(test::distance(fast.dmap, slow.dmap),
                  1e-6 * std::max(1.0, test::largest_magnitude(slow.dmap)))
            << box[0] << " " << box[1] << " " << box[2] << " " << box[3];
        ASSERT_TRUE(fast.dmap.gaps_untouched());
      }
    }
  }
}

// <f(map), g> = <map, f'(g)>: the operation is linear in the map.
TEST_P(RoiAlignBackwardOnTarget, IsTheAdjoint) {
  const Case c(11, 15, 6, 0.25f);
  for (const auto& box : kBoxes) {
    const Sheet out = c.align(box, 3, 0);
    Sheet grad = c.output(3);
    grad.noise(9);
    Gradient found(c);
    roi_align_backward(backward_args(c, box, 3, 0, grad, found.dmap));
    double forward = 0.0, backward = 0.0;
    for (int64_t p = 0; p < 9; ++p) {
      for (int64_t i = 0; i < 6; ++i) forward += static_cast<double>(out.at(p, i)) * grad.at(p, i);
    }
    for (int64_t r = 0; r < c.map.rows(); ++r) {
      for (int64_t i = 0; i < 6; ++i) {
        backward += static_cast<double>(c.map.at(r, i)) * (found.dmap.at(r, i) - 0.25);
      }
    }
    EXPECT_NEAR(forward, backward, 1e-5);
  }
}

TEST_P(RoiAlignBackwardOnTarget, OnesAddUpToTheNumberOfCells) {
  const Case c(20, 20, 3);
  Sheet grad = c.output(7);
  grad.fill([] { return 1.0f; });
  Gradient found(c);
  roi_align_backward(backward_args(c, {2.5f, 1, 18, 17.25f}, 7, 0, grad, found.dmap));
  double sum = 0.0;
  for (int64_t r = 0; r < 400; ++r) sum += found.dmap.at(r, 2) - 0.25;
  EXPECT_NEAR(sum, 49.0, 1e-4);
}

VIG_ON_EVERY_TARGET(RoiAlignBackwardOnTarget);

}  // namespace
}  // namespace vig
