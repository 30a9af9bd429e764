#include "vig/kernels/deformable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/deformable_case.h"
#include "kernels/on_targets.h"
#include "kernels/sheet.h"
#include "vig/kernels/reference/deformable.h"

namespace vig {
namespace {

using test::DeformableCase;
using test::Sheet;

void expect_reference(const DeformableCase& c, double tolerance = 1e-6) {
  Sheet fast = c.output(), slow = c.output();
  deformable(c.args(fast));
  reference::deformable(c.args(slow));
  EXPECT_LE(test::distance(fast, slow), tolerance) << c.name();
  EXPECT_TRUE(fast.gaps_untouched()) << c.name();
}

class DeformableOnTarget : public test::OnTarget {};

TEST_P(DeformableOnTarget, EqualsReferenceOnUglySizes) {
  for (const auto& shapes : test::deformable_shapes()) expect_reference(DeformableCase(shapes));
}

// Far from the origin of a large map a position loses no digits; far outside nothing is sampled.
TEST_P(DeformableOnTarget, EqualsReferenceOnALargeMapAndForLargeOffsets) {
  DeformableCase c({{{3, 2000}, {700, 2}}, {{1, 37}, {5, 1}}, 2, 2, 3});
  expect_reference(c);
  c.offsets.noise(4, -3000.0f, 3000.0f);
  expect_reference(c, 2e-3);  // float offsets of 2000 are 1e-4 apart
  c.offsets.fill([] { return 3e38f; });
  Sheet out = c.output();
  deformable(c.args(out));
  EXPECT_EQ(test::largest_magnitude(out), 0.0);
}

TEST_P(DeformableOnTarget, NanPositionsLieOutside) {
  DeformableCase c({{{4, 4}}, {{2, 2}}, 1, 1, 4});
  for (const float offset :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    c.offsets.fill([&] { return offset; });
    Sheet out = c.output();
    deformable(c.args(out));
    EXPECT_EQ(test::largest_magnitude(out), 0.0) << offset;
  }
}

TEST_P(DeformableOnTarget, LogitsOfAnySizeMakeWeights) {
  DeformableCase c({{{3, 3}, {2, 2}}, {{2, 2}}, 2, 4, 9});
  for (const float size : {1e-6f, 50.0f, 1e4f, 1e30f}) {
    c.logits.noise(5, -size, size);
    expect_reference(c);
  }
  c.logits.fill([] { return 0.0f; });
  expect_reference(c);
}

TEST_P(DeformableOnTarget, QueriesGiveTheSameBitsAlone) {
  const DeformableCase c({{{5, 6}, {2, 3}}, {{3, 4}, {2, 2}}, 3, 4, 21});
  Sheet together = c.output(), apart = c.output();
  deformable(c.args(together));
  for (int64_t query = 0; query < together.rows(); ++query) {
    DeformableArgs args = c.args(apart);
    args.first_query = query;
    args.last_query = query + 1;
    deformable(args);
  }
  EXPECT_TRUE(test::same_bits(together, apart));
}

// ---- properties ----

// One query, which samples around the middle of every level.
struct Single {
  explicit Single(std::vector<DeformableGrid> levels, int64_t points = 1)
      : c({std::move(levels), {{1, 1}}, 1, points, 2}), out(c.output()) {
    c.logits.fill([] { return 0.0f; });
    c.offsets.fill([] { return 0.0f; });
  }
  // Moves sample i of the head to (x, y), pixels of its level.
  void sample_at(int64_t i, double x, double y) {
    const DeformableGrid& map = c.levels[static_cast<size_t>(i / c.points) % c.levels.size()];
    c.offsets.at(0, 2 * i) = static_cast<float>(x - (static_cast<double>(map.width) / 2 - 0.5));
    c.offsets.at(0, 2 * i + 1) =
        static_cast<float>(y - (static_cast<double>(map.height) / 2 - 0.5));
  }
  float sample() {
    deformable(c.args(out));
    return out.at(0, 0);
  }
  DeformableCase c;
  Sheet out;
};

TEST_P(DeformableOnTarget, AConstantMapStaysConstantForAnyWeights) {
  DeformableCase c({{{6, 8}, {5, 5}}, {{2, 3}}, 2, 4, 6});
  c.values.fill([] { return 0.75f; });
  c.offsets.noise(6, -0.3f, 0.3f);  // the outermost query is 1/3 pixel inside of the border's
  Sheet out = c.output();
  deformable(c.args(out));
  for (int64_t q = 0; q < out.rows(); ++q) {
    for (int64_t i = 0; i < out.width(); ++i) EXPECT_NEAR(out.at(q, i), 0.75f, 2e-7);
  }
}

TEST_P(DeformableOnTarget, ALinearMapIsLinearInThePosition) {
  Single s({{6, 9}});
  for (int64_t y = 0; y < 6; ++y) {
    for (int64_t x = 0; x < 9; ++x) {
      s.c.values.at(y * 9 + x, 0) = static_cast<float>(3 * x - 2 * y);
    }
  }
  for (const auto& [x, y] : {std::pair(0.0, 0.0), {2.25, 3.5}, {7.9, 4.9}, {8.0, 5.0}}) {
    s.sample_at(0, x, y);
    EXPECT_NEAR(s.sample(), 3 * x - 2 * y, 1e-5);
  }
}

TEST_P(DeformableOnTarget, PixelCentresCornersAndTheOutside) {
  Single s({{3, 4}});
  for (int64_t y = 0; y < 3; ++y) {
    for (int64_t x = 0; x < 4; ++x) {
      s.sample_at(0, static_cast<double>(x), static_cast<double>(y));
      EXPECT_EQ(s.sample(), s.c.values.at(y * 4 + x, 0));
    }
  }
  s.sample_at(0, -0.5, -0.5);
  EXPECT_EQ(s.sample(), s.c.values.at(0, 0) / 4);
  s.sample_at(0, 3.5, 2.5);
  EXPECT_EQ(s.sample(), s.c.values.at(11, 0) / 4);
  for (const auto& [x, y] : {std::pair(-1.0, 1.0), {4.0, 1.0}, {1.0, -1.0}, {1.0, 3.0}}) {
    s.sample_at(0, x, y);
    EXPECT_EQ(s.sample(), 0.0f) << x << ", " << y;
  }
}

// Levels that are wide, high and square: a swap of height and width shows in each.
TEST_P(DeformableOnTarget, AnOffsetOfOneIsAPixelOfTheSampledLevel) {
  const std::vector<DeformableGrid> levels = {{5, 11}, {9, 3}, {7, 7}};
  Single s(levels);
  int64_t first = 0;
  for (size_t l = 0; l < levels.size(); ++l) {
    const auto level = static_cast<int64_t>(l);
    const int64_t middle = first + levels[l].height / 2 * levels[l].width + levels[l].width / 2;
    // All weight on this level.
    for (int64_t i = 0; i < 3; ++i) s.c.logits.at(0, i) = i == level ? 0.0f : -100.0f;
    EXPECT_EQ(s.sample(), s.c.values.at(middle, 0));
    s.c.offsets.at(0, 2 * level) = 1.0f;
    EXPECT_EQ(s.sample(), s.c.values.at(middle + 1, 0));
    s.c.offsets.at(0, 2 * level) = 0.0f;
    s.c.offsets.at(0, 2 * level + 1) = 1.0f;
    EXPECT_EQ(s.sample(), s.c.values.at(middle + levels[l].width, 0));
    s.c.offsets.at(0, 2 * level + 1) = 0.0f;
    first += levels[l].height * levels[l].width;
  }
}

TEST_P(DeformableOnTarget, TheSoftmaxIsOverLevelsAndPointsTogether) {
  Single s({{1, 1}, {1, 1}}, 2);
  s.c.values.at(0, 0) = 1.0f;  // of the first level; the result is the sum of its weights
  s.c.values.at(1, 0) = 0.0f;
  EXPECT_NEAR(s.sample(), 0.5f, 1e-7);
  for (int64_t i = 0; i < 2; ++i) s.c.logits.at(0, i) = 2.0f;
  EXPECT_NEAR(s.sample(), std::exp(2.0) / (std::exp(2.0) + 1), 2e-7);
}

TEST_P(DeformableOnTarget, TheOrderOfHeadsPermutesChannels) {
  const DeformableCase c({{{3, 5}, {4, 2}}, {{2, 2}}, 3, 4, 10});
  DeformableCase turned = c;
  const auto turn = [](const Sheet& from, int64_t width, Sheet& to) {
    for (int64_t r = 0; r < from.rows(); ++r) {
      for (int64_t i = 0; i < from.width(); ++i) {
        to.at(r, (i + width) % from.width()) = from.at(r, i);
      }
    }
  };
  turn(c.values, 10, turned.values);
  turn(c.offsets, 2 * 2 * 4, turned.offsets);
  turn(c.logits, 2 * 4, turned.logits);
  Sheet out = c.output(), turned_out = c.output(), want = c.output();
  deformable(c.args(out));
  deformable(turned.args(turned_out));
  turn(out, 10, want);
  EXPECT_TRUE(test::same_bits(turned_out, want));
}

VIG_ON_EVERY_TARGET(DeformableOnTarget);

}  // namespace
}  // namespace vig
