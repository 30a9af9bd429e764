#include "vig/tasks/paste_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/errors.h"
#include "tasks/dense_golden.h"

namespace vig {
namespace {

// Row by row, from runs over columns.
std::vector<int> pixels_of(const Mask& mask) {
  std::vector<int> pixels(static_cast<size_t>(mask.width) * static_cast<size_t>(mask.height), -1);
  size_t at = 0;
  const auto height = static_cast<size_t>(mask.height);
  for (size_t run = 0; run < mask.runs.size(); ++run) {
    for (uint32_t i = 0; i < mask.runs[run]; ++i, ++at) {
      pixels.at(at % height * static_cast<size_t>(mask.width) + at / height) =
          static_cast<int>(run % 2);
    }
  }
  EXPECT_EQ(at, pixels.size());
  return pixels;
}

TEST(PasteMask, IsThatOfTheGoldenCase) {
  const test::DenseGolden golden("mask-paste");
  const std::vector<Box> boxes = golden.boxes("boxes");
  const std::vector<float> masks = golden.floats("masks"), soft = golden.floats("soft");
  const std::vector<int64_t> hard = golden.integers("output");
  constexpr size_t kHeight = 60, kWidth = 84;
  double worst = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    const std::span<const float> mask(masks.data() + i * 28 * 28, 28 * 28);
    SpreadMask spread(mask, 28, boxes[i]);
    const std::vector<int> pasted = pixels_of(paste_mask(mask, 28, boxes[i], kWidth, kHeight));
    std::vector<float> column(kHeight);
    for (size_t x = 0; x < kWidth; ++x) {
      spread.column(static_cast<int>(x), column);
      for (size_t y = 0; y < kHeight; ++y) {
        const size_t at = y * kWidth + x;
        const float expected = soft[i * kHeight * kWidth + at];
        worst = std::max<double>(worst, std::abs(column[y] - expected));
        if (std::abs(expected - 0.5f) > 1e-5f) {
          EXPECT_EQ(pasted[at], hard[i * kHeight * kWidth + at]) << i << " " << x << " " << y;
        }
      }
    }
  }
  EXPECT_LT(worst, 1e-5);
}

TEST(PasteMask, FillsTheBoxAndRunsThroughTheBorders) {
  const std::vector<float> ones(4, 1.0f);
  // The whole image and more: one run of ones after an empty one of zeros.
  EXPECT_EQ(paste_mask(ones, 2, {-10, -10, 20, 20}, 4, 3).runs, (std::vector<uint32_t>{0, 12}));
  // Touches the bottom of a column but not the top of the next.
  const std::vector<int> lower = pixels_of(paste_mask(ones, 2, {1, 1, 3, 30}, 4, 3));
  EXPECT_EQ(lower, (std::vector<int>{0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0}));
}

// Positions are sums of powers of two here, so that nothing is rounded.
TEST(PasteMask, ExactlyOneHalfIsInside) {
  const std::vector<float> halves(4, 0.5f), less(4, std::nextafter(0.5f, 0.0f));
  EXPECT_EQ(paste_mask(halves, 2, {-8, -8, 24, 24}, 4, 3).runs, (std::vector<uint32_t>{0, 12}));
  EXPECT_EQ(paste_mask(less, 2, {-8, -8, 24, 24}, 4, 3).runs, (std::vector<uint32_t>{12}));
}

TEST(PasteMask, RefusesOtherSizesThanASquare) {
  const std::vector<float> five(5, 1.0f);
  for (const int side : {0, 2, 3, -1}) {
    test::expect_error(ErrorCode::kUsage, {"a mask of 5 values"}, [&] {
      paste_mask(five, side, {0, 0, 4, 4}, 4, 4);
    });
  }
}

TEST(PasteMask, EmptyAndFarBoxesHaveNone) {
  const std::vector<float> ones(4, 1.0f);
  for (const Box& box : {Box{2, 2, 2, 9}, Box{2, 2, 9, 2}, Box{100, 100, 200, 200},
                         Box{-200, 0, -100, 5}, Box{5, 5, 2, 2}}) {
    EXPECT_EQ(paste_mask(ones, 2, box, 6, 5).runs, (std::vector<uint32_t>{30}));
  }
}

}  // namespace
}  // namespace vig
